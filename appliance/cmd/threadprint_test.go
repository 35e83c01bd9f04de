package cmd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/wardroom/wardroom/appliance/cmd"
)

func TestWrapColumns(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		columns    int
		want       []string
	}{
		{"Empty", "", 30, nil},
		{"Blank", " \n\n", 30, nil},
		{"Fits", "as it is", 30, []string{"as it is"}},
		{"OwnBreaks", "one\n\n  two", 30, []string{"one", "", "  two"}},
		{"AtSpaces", "the quick brown fox jumps over it", 20, []string{"the quick brown fox", "jumps over it"}},
		{"JustFits", "the quick brown foxes jump", 21, []string{"the quick brown foxes", "jump"}},
		{"LongWord", strings.Repeat("x", 45), 20, []string{strings.Repeat("x", 20), strings.Repeat("x", 20), "xxxxx"}},
		{"Wide", strings.Repeat("技", 12), 20, []string{strings.Repeat("技", 10), "技技"}},
		{"Narrow", "the quick brown fox jumps", 5, []string{"the quick brown fox", "jumps"}},
		{"NoTerminal", strings.Repeat("word ", 50), 0, []string{strings.TrimSpace(strings.Repeat("word ", 50))}},
		{"Controls", "a\x1b[31mb\tc", 40, []string{"a\ufffd[31mb    c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cmd.WrapColumns(tt.text, tt.columns); !slices.Equal(got, tt.want) {
				t.Errorf("lines %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzWrapColumns holds the lines to their width, and to the words of the text.
func FuzzWrapColumns(f *testing.F) {
	f.Add("the quick brown fox", 20)
	f.Add("技術 \U0001F469\u200d\U0001F680 x\u0301\r\n\x1b]0;t\x07", 21)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		columns = 20 + (columns&0x7fffffff)%100
		var got strings.Builder
		for _, line := range cmd.WrapColumns(text, columns) {
			if width := uniseg.StringWidth(line); width > columns {
				t.Errorf("%q takes %d columns of %d", line, width, columns)
			}
			got.WriteString(line)
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		var want strings.Builder
		for _, line := range cmd.WrapColumns(text, 0) {
			want.WriteString(line)
		}
		if squeeze(got.String()) != squeeze(want.String()) {
			t.Errorf("%q became %q", want.String(), got.String())
		}
	})
}
