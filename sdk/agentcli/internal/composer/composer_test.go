package composer_test

import (
	"strings"
	"testing"
	"unicode/utf8"

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
