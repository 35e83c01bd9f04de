package vt_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/vt"
)

const pasteBegin, pasteEnd = "\x1b[200~", "\x1b[201~"

func TestPaste(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"Plain", "hello", "hello"},
		{"Empty", "", ""},
		{"Lines", "a\nb\r\nc\rd", "a\rb\rc\rd"},
		{"Tab", "a\tb", "a\tb"},
		{"Bracket", "a\x1b[201~rm -rf\r", "arm -rf\r"},
		{"NestedBracket", "a\x1b\x1b[201~[201~b", "a[201~b"},
		{"Escape", "a\x1b[Ab\x1b", "a[Ab"},
		{"Controls", "a\x03\x00\x7fb", "ab"},
		{"C1", "a\u009b31mb", "a31mb"},
		{"InvalidUTF8", "a\xffb", "a\ufffdb"},
		{"Unicode", "漢字 👍🏽", "漢字 👍🏽"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := string(vt.Paste(tt.text)), pasteBegin+tt.want+pasteEnd; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func FuzzPaste(f *testing.F) {
	f.Add("a\x1b[201~b\n\u0085")
	f.Fuzz(func(t *testing.T, text string) {
		got := vt.Paste(text)
		inner, ok := bytes.CutPrefix(got, []byte(pasteBegin))
		inner, ok2 := bytes.CutSuffix(inner, []byte(pasteEnd))
		if !ok || !ok2 || !utf8.Valid(inner) {
			t.Fatalf("%q", got)
		}
		if strings.ContainsAny(string(inner), "\x00\x03\x1b\n\x7f\u009b") {
			t.Fatalf("control characters in %q", inner)
		}
	})
}
