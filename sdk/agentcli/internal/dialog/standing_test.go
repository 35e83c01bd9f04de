package dialog_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// screens are dialogs as the CLIs drew them.
var screens = []struct {
	name, screen string
	text         string // a part of it
	labels       []string
	marked       int
}{
	{
		name: "gemini loop", screen: `
 > SAY[aaaa]
▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
✦ 1. aaaaaaa
  2. bbbbbbb

 ╭─────────────────────────────────────────────────────────────────╮
 │ ?  A potential loop was detected                                │
 │                                                                 │
 │ This can happen due to repetitive tool calls. Do you want to    │
 │ disable it for this session?                                    │
 │                                                                 │
 │   1. Keep loop detection enabled (esc)                          │
 │ ● 2. Disable loop detection for this session                    │
 ╰─────────────────────────────────────────────────────────────────╯
`,
		text: "A potential loop was detected", labels: []string{"Keep loop detection enabled (esc)", "Disable loop detection for this session"}, marked: 1,
	},
	{
		name: "gemini model", screen: `
╭────────────────────────────────────────────────────────────────────────╮
│                                                                        │
│ It seems like you don't have access to gemini-3.5-flash-lite.          │
│                                                                        │
│ ● 1. Switch to gemini-3.1-pro-preview-customtools                      │
│   2. Stop                                                              │
│                                                                        │
╰────────────────────────────────────────────────────────────────────────╯
`,
		text: "don't have access", labels: []string{"Switch to gemini-3.1-pro-preview-customtools", "Stop"},
	},
	{
		name: "claude key", screen: `
 Detected a custom API key in your environment

 ANTHROPIC_API_KEY: sk-ant-...

 Do you want to use this API key?

   1. Yes
 ❯ 2. No (recommended) ✔

 Enter to confirm · Esc to cancel
`,
		text: "Do you want to use this API key?", labels: []string{"Yes", "No (recommended) ✔"}, marked: 1,
	},
	{
		name: "codex", screen: `
  Would you like to run the following command?

  $ touch x

› 1. Yes, proceed (y)
  2. Yes, and don't ask again for commands
     that start with touch (p)
  3. No, and tell Codex what to do differently (esc)

  Press enter to confirm or esc to cancel
`,
		text:   "Press enter to confirm",
		labels: []string{"Yes, proceed (y)", "Yes, and don't ask again for commands that start with touch (p)", "No, and tell Codex what to do differently (esc)"},
	},
	{
		name: "no numbers", screen: `
────────────────────────────────
 Select a theme
   Dark
 ❯ Light
   High contrast

 Enter to select
`,
		text: "Select a theme", labels: []string{"Dark", "Light", "High contrast"}, marked: 1,
	},
	{
		name: "circles", screen: "│ Pick │\n│ ○ one │\n│ ● two │\n│ ○ three │", text: "Pick", labels: []string{"one", "two", "three"}, marked: 1,
	},
	{name: "a list that is text", screen: "✦ First:\n  1. one\n  2. two\n", text: "First:"},
	{name: "a quote", screen: "> somebody said\n\nand more", text: "somebody said"},
	{name: "nothing", screen: "\n\n", text: ""},
	{
		name: "claude command", screen: `
❯ USE_TOOL[touch made] please
────────────────────────────────────────────────────────────────────
 Bash command
 Tip: auto mode handles these prompts for you — choose "switch to auto mode" below

 fake tool call
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 touch made
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and always allow access to work from this project
   3. Yes, and switch to auto mode · auto mode handles these prompts for you
   4. No

 Esc to cancel · Tab to amend
`,
		text: "touch made\nDo you want to proceed?", labels: []string{
			"Yes", "Yes, and always allow access to work from this project",
			"Yes, and switch to auto mode · auto mode handles these prompts for you", "No",
		},
	},
	{
		name: "cut off", screen: `
 touch a
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 Do you want to proceed?
 ❯ 1. Yes
 ↓ 2. Yes, and always allow access to
      /agent/work from this project
 ↑ 7 more lines
 Esc to cancel · Tab to amend
`,
		text: "Do you want to proceed?\n↑ 7 more lines", labels: []string{"Yes", "Yes, and always allow access to /agent/work from this project", "Cancel (Esc)"},
	},
	{
		name: "cut off above", screen: "────────────\n Pick\n ↑ 2. two\n ❯ 3. three\n   4. four\n", text: "Pick",
		labels: []string{"two", "three", "four"}, marked: 1,
	},
}

func TestRead(t *testing.T) {
	for _, tt := range screens {
		t.Run(tt.name, func(t *testing.T) {
			s := dialog.Read(strings.Split(tt.screen, "\n"))
			var labels []string
			for _, e := range s.Entries {
				labels = append(labels, e.Label)
			}
			if strings.Join(labels, "|") != strings.Join(tt.labels, "|") || s.Marked != tt.marked {
				t.Errorf("entries %q, marked %d", labels, s.Marked)
			}
			if !strings.Contains(s.Text, tt.text) || strings.ContainsAny(s.Text, "│╭╰") {
				t.Errorf("text %q", s.Text)
			}
			p := s.Prompt("p1")
			if p.Kind != runtime.PromptQuestion || p.Text == "" || len(p.Options) != len(tt.labels) {
				t.Errorf("prompt %+v", p)
			}
		})
	}
}

func TestStandingAnswer(t *testing.T) {
	numbered := dialog.Read(strings.Split(screens[0].screen, "\n"))
	plain := dialog.Read(strings.Split(screens[4].screen, "\n"))
	none := dialog.Standing{Text: "a text"}
	cut := dialog.Read(strings.Split(screens[len(screens)-2].screen, "\n"))
	for _, tt := range []struct {
		s      dialog.Standing
		answer runtime.Answer
		keys   string
		choice string
	}{
		{numbered, runtime.Answer{Choice: "2"}, "2", "2"},
		{numbered, runtime.Answer{Choice: "keep loop detection enabled (ESC)"}, "1", "1"},
		{numbered, runtime.Answer{Text: "Disable loop detection for this session"}, "2", "2"},
		{plain, runtime.Answer{Choice: "High contrast"}, "\x1b[B\r", "3"},
		{plain, runtime.Answer{Choice: "1"}, "\x1b[A\r", "1"},
		{plain, runtime.Answer{Choice: "2"}, "\r", "2"},
		{plain, runtime.Answer{Choice: "4"}, "", ""},
		{cut, runtime.Answer{Choice: "2"}, "2", "2"},
		{cut, runtime.Answer{Choice: "3"}, "\x1b", "3"},
		{plain, runtime.Answer{Choice: "1", Text: "x"}, "", ""},
		{plain, runtime.Answer{Text: "neither"}, "", ""},
		{none, runtime.Answer{Choice: "1"}, "", ""},
	} {
		steps, choice, err := tt.s.Answer(tt.answer)
		keys := ""
		for _, step := range steps {
			keys += string(step.Write)
		}
		if keys != tt.keys || choice != tt.choice || (err != nil) != (tt.keys == "") {
			t.Errorf("%+v: keys %q, choice %q, %v", tt.answer, keys, choice, err)
		}
		if err != nil && runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
			t.Errorf("%+v: %v", tt.answer, err)
		}
	}
}

func TestStandingEqual(t *testing.T) {
	a := dialog.Read(strings.Split(screens[0].screen, "\n"))
	b := a
	b.Marked = 0
	if !a.Equal(&b) {
		t.Error("a mark that moves makes another dialog of it")
	}
	c := dialog.Read(strings.Split(screens[1].screen, "\n"))
	if a.Equal(&c) {
		t.Error("two dialogs are one")
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range screens {
		f.Add(s.screen, "1")
	}
	f.Add("╰╭\n╰", "❯")
	f.Add("● 1. \n  2. x", "x")
	f.Fuzz(func(t *testing.T, text, answer string) {
		s := dialog.Read(strings.Split(text, "\n"))
		if len(s.Text) > 2100 || len(s.Entries) > 40 || s.Marked < 0 || s.Marked > max(0, len(s.Entries)-1) {
			t.Fatalf("%d bytes, %d entries, marked %d", len(s.Text), len(s.Entries), s.Marked)
		}
		for i, e := range s.Entries {
			if e.Label == "" || len(e.Label) > 300 || utf8.ValidString(text) && !utf8.ValidString(e.Label) {
				t.Fatalf("entry %d is %q", i, e.Label)
			}
			if _, choice, err := s.Answer(runtime.Answer{Choice: e.Label}); err != nil || choice == "" {
				t.Fatalf("the label %q is no answer: %v", e.Label, err)
			}
		}
		_, _, _ = s.Answer(runtime.Answer{Text: answer})
		if p := s.Prompt("p"); p.Text == "" || len(p.Options) != len(s.Entries) || !s.Equal(&s) {
			t.Fatalf("prompt %+v", p)
		}
	})
}

// The parts of a dialog lie between its dashed lines: a rule ends what is above it, and a line within words is none.
func TestSections(t *testing.T) {
	rows := []string{"words", "──────────", " Title", "", " │ a bar ╌╌╌╌╌╌╌╌", "╌╌╌╌╌╌╌╌╌╌", " │ ╌╌╌╌╌╌╌╌", "╌╌╌╌╌╌╌╌╌╌", "╌╌╌╌╌╌╌╌╌╌", " ❯ 1. Yes"}
	if got, want := fmt.Sprint(dialog.Sections(rows)), "[[Title a bar] [] [] [❯ 1. Yes]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := dialog.Sections(nil); len(got) != 1 || len(got[0]) != 0 {
		t.Errorf("%q of nothing", got)
	}
}
