package dialog_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestOnScreen(t *testing.T) {
	for _, tt := range []struct{ name, screen, marker, text, options string }{
		{"Claude", `❯ USE_TOOL[touch y]

────────────
 Bash command

   touch y

 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and always allow access to work/
      from this project
   3. No

 Esc to cancel · Tab to amend`, "❯", "Bash command\n\n   touch y\n\n Do you want to proceed?", "1=Yes 2=Yes, and always allow access to work/ from this project 3=No"},
		{"Boxed", `╭─────────────╮
│ A potential loop was detected │
│                               │
│ ● 1. Keep it on               │
│   2. Disable it               │
╰─────────────╯`, "●", "A potential loop was detected", "1=Keep it on 2=Disable it"},
		{"Second is marked", " Which?\n   1) one\n › 2) two", "›", "Which?", "1=one 2=two"},
		{"Said by the agent", "● 1. First\n  2. Second\n────\n❯ \n────", "❯", "", ""},
		{"One option", "❯ 1. Yes", "❯", "", ""},
		{"Composer with a list", "────\n❯ 1. buy milk\n────\n  ? for shortcuts", "❯", "", ""},
		{"The lower one", " ❯ 1. a\n   2. b\n text\n ❯ 1. c\n   2. d", "❯", "❯ 1. a\n   2. b\n text", "1=c 2=d"},
		{"Nothing", "", "❯", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, options, ok := dialog.OnScreen(strings.Split(tt.screen, "\n"), tt.marker)
			if got := joined(options); text != tt.text || got != tt.options || ok != (tt.options != "") {
				t.Errorf("%q with %q, %v; want %q with %q", text, got, ok, tt.text, tt.options)
			}
		})
	}
}

func TestScreenPrompt(t *testing.T) {
	p := dialog.ScreenPrompt("p1", []string{"", "Something new", "press any key", ""}, "❯")
	if p.ID != "p1" || p.Kind != runtime.PromptQuestion || p.Text != "Something new\npress any key" || len(p.Options) != 0 {
		t.Errorf("prompt %+v", p)
	}
	if p = dialog.ScreenPrompt("p1", nil, "❯"); p.Text == "" {
		t.Error("a prompt without a text")
	}
}

func joined(options []runtime.Option) string {
	var words []string
	for _, o := range options {
		words = append(words, o.ID+"="+o.Label)
	}
	return strings.Join(words, " ")
}

func FuzzOnScreen(f *testing.F) {
	f.Add(" ❯ 1. a\n   2. b")
	f.Add("│ ● 9. a │\n 10) b\n 1. c")
	f.Fuzz(func(t *testing.T, screen string) {
		text, options, ok := dialog.OnScreen(strings.Split(screen, "\n"), "❯")
		if ok != (len(options) > 1) || !ok && text != "" {
			t.Errorf("%q: %q, %v, %v", screen, text, options, ok)
		}
		dialog.ScreenPrompt("p", strings.Split(screen, "\n"), "❯")
	})
}
