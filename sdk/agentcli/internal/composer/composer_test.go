package composer_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\r\nb\rc\nd":                   "a\nb\nc\nd",
		"tab\tstays":                     "tab\tstays",
		"\x1b[201~rm\x03\x7f\u009bx":     "[201~rmx",
		"bad \xff":                       "bad \uFFFD",
		"日本語 \U0001F469\u200d\U0001F467": "日本語 \U0001F469\u200d\U0001F467",
	} {
		if got := composer.Plain(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestSent(t *testing.T) {
	for _, tt := range []struct{ sent, prompt, want string }{
		{"hello", "hello", "hello"},
		{"a\tb  c ", "a    b c", "a\tb  c "},
		{"?", "?", "?"},
		{"?", "!", "!"},
		{"look at @READ", "look at @README.md", "look at @READ"},
		{"look at @READ", "see @README.md", "see @README.md"},
		{"mine", "a person's", "a person's"},
	} {
		var s composer.Sent
		s.Submit(tt.sent)
		if got := s.Taken(tt.prompt); got != tt.want {
			t.Errorf("%q taken as %q gives %q, want %q", tt.sent, tt.prompt, got, tt.want)
		}
		if tt.want == tt.sent && tt.prompt != tt.sent {
			if got := s.Taken(tt.prompt); got != tt.prompt {
				t.Errorf("%q is recognised twice", tt.sent)
			}
		}
	}
}

func FuzzPaste(f *testing.F) {
	f.Add("x\x1b[201~y")
	f.Fuzz(func(t *testing.T, text string) {
		b := string(composer.Paste(text))
		inner := strings.TrimSuffix(strings.TrimPrefix(b, "\x1b[200~"), "\x1b[201~")
		if strings.ContainsAny(inner, "\x1b\r\x03\x7f") || !utf8.ValidString(inner) {
			t.Errorf("%q is pasted as %q", text, b)
		}
	})
}

func TestPasteInPieces(t *testing.T) {
	const family = "\U0001F469\u200d\U0001F469\u200d\U0001F467" // 18 bytes
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"hello ", []string{"hello "}},
		{"a\nb\nc\nd", []string{"a\nb\n", "c\nd"}},
		{"\r\n\r\n\r\n", []string{"\n\n", "\n"}},
		{strings.Repeat("word ", 5), []string{"word word word word ", "word "}},
		{strings.Repeat("x", 45), []string{strings.Repeat("x", 20), strings.Repeat("x", 20), "xxxxx"}},
		{"12 " + family + family, []string{"12 ", family, family}},
		{"a\x1b[201~\x03b", []string{"a[201~b"}},
	} {
		var want strings.Builder
		for _, piece := range tt.want {
			want.WriteString("\x1b[200~" + piece + "\x1b[201~")
		}
		if got := string(composer.PasteInPieces(tt.text, 2, 20)); got != want.String() {
			t.Errorf("%q is pasted as %q, want %q", tt.text, got, want.String())
		}
	}
}

func FuzzPasteInPieces(f *testing.F) {
	f.Add("a\nb\nc\nd e \U0001F469\u200d\U0001F467\xff", 1, 3)
	f.Fuzz(func(t *testing.T, text string, breaks, size int) {
		breaks, size = max(1, breaks%100), max(1, size%1000)
		var all strings.Builder
		for _, p := range strings.SplitAfter(string(composer.PasteInPieces(text, breaks, size)), "\x1b[201~") {
			p = strings.TrimSuffix(strings.TrimPrefix(p, "\x1b[200~"), "\x1b[201~")
			all.WriteString(p)
			if strings.Count(p, "\n") > breaks || len(p) > size && uniseg.GraphemeClusterCount(p) > 1 {
				t.Errorf("%q has the piece %q", text, p)
			}
		}
		if all.String() != composer.Plain(text) {
			t.Errorf("%q is pasted as %q", text, all.String())
		}
	})
}

// Several control characters at once are text to a program that is slow to read.
func TestClearPressesKeyByKey(t *testing.T) {
	steps := composer.Clear(composer.Backspace, composer.Escape)
	for i, step := range steps {
		if len(step.Write) != 1 || step.Wait <= 0 {
			t.Errorf("step %d types %q and waits %s", i, step.Write, step.Wait)
		}
	}
	if n := len(steps); n != 2+2*composer.ClearLines || string(steps[0].Write) != composer.LineEnd || string(steps[n-1].Write) != composer.Escape {
		t.Errorf("%d steps, from %q to %q", n, steps[0].Write, steps[n-1].Write)
	}
}
