package drivertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// draftPause is how long a person's keys come before a message; the session waits for two seconds.
const draftPause = 400 * time.Millisecond

// Suite is what every adapter of a real CLI has to do, whatever its CLI is like.
type Suite struct {
	New func() agentcli.Adapter
	Env func(model string) map[string]string // that makes the CLI use a model at a URL
	// LoginEnv leaves the CLI without a credential, and LoginURL is how the address begins that it then shows.
	LoginEnv map[string]string
	LoginURL string
	// Tool makes a message for which the model asks to create the file, by a tool that needs an approval.
	Tool func(file string) string
	// Impatient is added to Env where the model fails again and again: it makes the CLI give up its own retries soon. Nil:
	// it cannot be told to, or gives up soon by itself.
	Impatient map[string]string
	// Settings are files of the work directory, by their path there, that do the same.
	Settings map[string]string
	// KeyAllow is what a person presses to allow.
	KeyAllow string
	// EmptyRefuses: an answer with nothing in it reads as one that the provider refuses, which it would do again.
	EmptyRefuses bool
	// DenyContinues: after a refusal over the API the turn goes on; otherwise it ends as interrupted.
	DenyContinues bool
	// Changed returns how the CLI changes messages before it takes them; nil: not at all.
	Changed func(message string) string
}

// messages are what a caller may well send, and what CLIs take for something else.
var messages = []struct{ name, text string }{
	{"slash", "/help me with this"},
	{"slash command", "/clear"},
	{"no-break space and slash", "\u00a0/clear"},
	{"byte order mark and slash", "\ufeff/clear"},
	{"slash path", "/usr/bin/ls is what?"},
	{"bang", "!echo one"},
	{"hash", "#remember this"},
	{"at", "@nobody are you there"},
	{"at the end", "look at @READ"},
	{"question mark", "?"},
	{"backslash", `it ends with a \`},
	{"lines", "first line\nsecond line\n\n  indented fourth"},
	{"unicode", "日本語 mit Umläuten, é, \U0001F469\u200d\U0001F469\u200d\U0001F467 and кириллица"},
	{"escape", "red \x1b[31mnot\x1b[0m, paste \x1b[201~ end\x03 and a bell \x07"},
	{"long line", counted("word%d ", 1500) + "end"},
	{"many lines", counted("this is line %d\n", 300) + "end"},
}

// counted repeats a format with rising numbers: gemini takes true repetition in an answer for a loop.
func counted(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i+1)
	}
	return b.String()
}

// patience is how long a test waits for what must come: several CLIs run beside each other, and most of the time each of
// them waits for something.
const patience = 2 * time.Minute

// Run runs the suite. Its parts, and those of the other suites, run beside each other.
func (s Suite) Run(t *testing.T) {
	CLI(t, s.New().Type())
	t.Parallel()
	model := StartModel(t)
	env := s.Env(model.URL)
	parallel(t, "Turns", func(t *testing.T) { s.turns(t, env) })
	parallel(t, "Messages", func(t *testing.T) { s.messages(t, env) })
	parallel(t, "Prompts", func(t *testing.T) { s.prompts(t, env) })
	parallel(t, "Resume", func(t *testing.T) { s.resume(t, env) })
	parallel(t, "Drafts", func(t *testing.T) { s.drafts(t, env) })
	parallel(t, "InputLine", func(t *testing.T) { s.inputLine(t, env) })
	parallel(t, "Mixed", func(t *testing.T) { s.mixed(t, env) })
}

// parallel runs a part that starts an agent of its own.
func parallel(t *testing.T, name string, part func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		part(t)
	})
}

// start starts an agent and waits until it is ready.
func (s Suite) start(t *testing.T, env map[string]string) *Agent {
	t.Helper()
	a := Start(t, s.New(), env)
	if ready := a.Wait(agentcli.SignalIdle, agentcli.SignalLogin, agentcli.SignalError); ready.Kind != agentcli.SignalIdle {
		t.Fatalf("not ready but %s\n%s", ready.Kind, a.Screen())
	}
	return a
}

func (s Suite) turns(t *testing.T, env map[string]string) {
	a := s.start(t, env)
	if took := a.Send("hello"); took.Text != "hello" {
		t.Errorf("took %q", took.Text)
	}
	if end := a.Turn(); end.Text != "ANSWER[hello]" || end.Interrupted {
		t.Errorf("turn ended with %+v", end)
	}

	// At once, as the next of a queue.
	a.Send("SAY[  two\n  lines, and  double  blanks]")
	if end := a.Turn(); strings.TrimSpace(end.Text) != "two\n  lines, and  double  blanks" {
		t.Errorf("text %q", end.Text)
	}

	a.Send("SLOW[20] please")
	a.WaitScreen("slow3")
	a.Keys("\x1b")
	if end := a.Turn(); !end.Interrupted {
		t.Errorf("an interrupted turn ended with %+v", end)
	}
	a.Send("after the interrupt")
	if end := a.Turn(); end.Text != "ANSWER[after the interrupt]" || end.Interrupted {
		t.Errorf("turn ended with %+v", end)
	}
	if n := a.Count(agentcli.SignalTurnEnd); n != 4 {
		t.Errorf("%d turns ended, want 4\n%s", n, a.History())
	}
	if exit := a.Exit(); exit.Code != 0 {
		t.Errorf("exit %+v", exit)
	}
}

func (s Suite) messages(t *testing.T, env map[string]string) {
	a := s.start(t, env)
	if err := os.WriteFile(filepath.Join(a.Room.Workdir, "README.md"), []byte("read me\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			a.For(t)
			took := a.Send(m.text)
			if took.Text != m.text {
				t.Errorf("took %.200q, want %.200q", took.Text, m.text)
			}
			want := m.text
			if m.name == "escape" {
				want = "red [31mnot[0m, paste [201~ end and a bell "
			}
			end := a.Turn()
			got := s.answered(end.Text)
			if s.Changed != nil { // by some versions of the CLI
				want, got = s.Changed(want), s.Changed(got)
			}
			if end.Interrupted || strings.TrimSpace(got) != strings.TrimSpace(want) {
				t.Errorf("turn ended with %.200q, interrupted %v, want an answer to %.200q", end.Text, end.Interrupted, want)
			}
		})
	}
	a.For(t)
	if took, ends := a.Count(agentcli.SignalTook), a.Count(agentcli.SignalTurnEnd); took != len(messages) || ends != took {
		t.Errorf("%d messages: %d taken, %d turns\n%s", len(messages), took, ends, a.History())
	}
}

// answered returns the message that the model answered to, as it saw it.
func (s Suite) answered(text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "ANSWER["), "]")
	return strings.TrimLeft(text, "\u2060\u2800")
}

func (s Suite) prompts(t *testing.T, env map[string]string) {
	a := s.start(t, env)
	file := func(name string) string { return filepath.Join(a.Room.Workdir, name) }
	exists := func(name string) bool { _, err := os.Stat(file(name)); return err == nil }

	t.Run("Allow", func(t *testing.T) {
		a.For(t)
		a.Send(s.Tool(file("allowed")))
		blocked := a.Wait(agentcli.SignalBlocked)
		p := blocked.Prompt
		if p == nil || p.Kind != runtime.PromptApproval || !strings.Contains(p.Text, file("allowed")) || p.ID == "" || p.Tool == "" {
			t.Fatalf("blocked with %+v", p)
		}
		if exists("allowed") {
			t.Fatal("the tool ran before it was allowed")
		}
		if err := a.Answer(runtime.Answer{Choice: "perhaps"}); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
			t.Errorf("a wrong choice: %v", err)
		}
		a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
		if u := a.Wait(agentcli.SignalUnblocked); u.Choice != runtime.ChoiceAllow {
			t.Errorf("unblocked by %q", u.Choice)
		}
		if end := a.Turn(); end.Interrupted || !strings.Contains(end.Text, "TOOL_RESULT") || !exists("allowed") {
			t.Errorf("turn ended with %+v, file there: %v", end, exists("allowed"))
		}
	})
	t.Run("AllowByKey", func(t *testing.T) {
		a.For(t)
		a.Send(s.Tool(file("by-key")))
		a.Wait(agentcli.SignalBlocked)
		defer a.Press("1. ", s.KeyAllow)()
		a.Wait(agentcli.SignalUnblocked)
		if end := a.Turn(); end.Interrupted || !exists("by-key") {
			t.Errorf("turn ended with %+v, file there: %v", end, exists("by-key"))
		}
	})
	t.Run("Deny", func(t *testing.T) {
		a.For(t)
		a.Send(s.Tool(file("denied")))
		a.Wait(agentcli.SignalBlocked)
		a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceDeny, Text: "not on a Friday"})
		if u := a.Wait(agentcli.SignalUnblocked); s.DenyContinues && u.Choice != runtime.ChoiceDeny {
			t.Errorf("unblocked by %q", u.Choice)
		}
		end := a.Turn()
		if !s.DenyContinues {
			if !end.Interrupted {
				t.Errorf("a refused turn ended with %+v", end)
			}
			end = a.Turn() // the reason is a message
		}
		if end.Interrupted || !strings.Contains(end.Text, "not on a Friday") || exists("denied") {
			t.Errorf("turn ended with %+v, file there: %v", end, exists("denied"))
		}
	})
	t.Run("DenyByKey", func(t *testing.T) {
		a.For(t)
		a.Send(s.Tool(file("denied-by-key")))
		a.Wait(agentcli.SignalBlocked)
		defer a.Press("1. ", "\x1b")()
		if end := a.Turn(); !end.Interrupted || exists("denied-by-key") {
			t.Errorf("turn ended with %+v, file there: %v", end, exists("denied-by-key"))
		}
	})
	t.Run("Question", func(t *testing.T) {
		a.For(t)
		a.Send("ASK[which one?] please")
		p := a.Wait(agentcli.SignalBlocked).Prompt
		if p == nil || p.Kind != runtime.PromptQuestion || p.Text != "which one?" || len(p.Options) != 2 || p.Options[1].Label != "beta" {
			t.Fatalf("blocked with %+v", p)
		}
		if err := a.Answer(runtime.Answer{Choice: "gamma"}); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
			t.Errorf("a wrong choice: %v", err)
		}
		a.MustAnswer(runtime.Answer{Choice: p.Options[1].ID})
		a.Wait(agentcli.SignalUnblocked)
		if end := a.Turn(); !strings.Contains(end.Text, "beta") {
			t.Errorf("turn ended with %q", end.Text)
		}
	})
	t.Run("OwnWords", func(t *testing.T) {
		a.For(t)
		a.Send("ASK[which two?] please")
		a.Wait(agentcli.SignalBlocked)
		a.MustAnswer(runtime.Answer{Text: "neither of them"})
		a.Wait(agentcli.SignalUnblocked)
		if end := a.Turn(); !strings.Contains(end.Text, "neither of them") {
			t.Errorf("turn ended with %q", end.Text)
		}
	})
	for name, reload := range map[string]func(){"Reloaded": a.Reload, "HooksLost": a.ReloadWithoutHooks} {
		t.Run(name, func(t *testing.T) {
			a.For(t)
			a.Send(s.Tool(file(name)))
			a.Wait(agentcli.SignalBlocked)
			reload()
			a.WaitScreen("1. ")
			a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
			a.Wait(agentcli.SignalUnblocked)
			if end := a.Turn(); end.Interrupted || !exists(name) {
				t.Errorf("turn ended with %+v, file there: %v", end, exists(name))
			}
		})
	}
	t.Run("AfterAll", func(t *testing.T) {
		a.For(t)
		a.Send("still there")
		if end := a.Turn(); end.Text != "ANSWER[still there]" {
			t.Errorf("turn ended with %q", end.Text)
		}
	})
}

// resume kills the CLI and wants its conversation back.
func (s Suite) resume(t *testing.T, env map[string]string) {
	a := s.start(t, env)
	// claude begins its transcript at the first message, and may write an answer that comes at once before it: what it resumes then
	// ends with the message. So the one that is looked for is the second.
	a.Send("hello")
	a.Turn()
	a.WaitFile("ANSWER[hello]")
	a.Send("remember the number 4711")
	a.Turn()
	session := a.Plan.SessionID
	if session == "" {
		a.mu.Lock()
		for _, seen := range a.seen {
			if seen.Kind == agentcli.SignalSession {
				session = seen.Text
			}
		}
		a.mu.Unlock()
	}
	if session == "" {
		t.Fatal("the session's id is not known")
	}
	a.WaitFile("ANSWER[remember the number 4711]") // the CLIs write their transcripts a little late
	a.Again(session)
	a.Wait(agentcli.SignalIdle)
	a.WaitScreen("ANSWER[remember the number 4711]")
	a.Send("once more")
	if end := a.Turn(); end.Text != "ANSWER[once more]" {
		t.Errorf("turn ended with %q", end.Text)
	}
}

// drafts sends messages while somebody's draft lies in the composer.
func (s Suite) drafts(t *testing.T, env map[string]string) {
	a := s.start(t, env)
	for _, draft := range []string{"a draft", "\x1b[200~one\ntwo\nthree\x1b[201~", "/he", "!", "!ls"} {
		before := a.Screen()
		a.Keys(draft)
		a.waitOther(before)
		a.Type([]agentcli.Step{{Wait: draftPause}})
		if took := a.Send("the message"); took.Text != "the message" {
			t.Errorf("with the draft %q it took %q", draft, took.Text)
		}
		a.Turn()
	}
	for _, draft := range []string{"!", "!ls", "a draft"} { // of which nothing is drawn when the message comes
		a.Freeze(func() { a.Keys(draft) })
		if took := a.Send("the message"); took.Text != "the message" {
			t.Errorf("with the draft %q, which was not drawn, it took %q", draft, took.Text)
		}
		a.Turn()
	}
}

// inputLine reads what stands in the input line, and empties it.
func (s Suite) inputLine(t *testing.T, env map[string]string) {
	a := s.start(t, env)
	for _, text := range []string{"please", counted("word%d ", 40) + "end", "first line\nsecond line", "日本語 and кириллица"} {
		words := strings.Fields(text)
		want := strings.Join(words, " ")
		a.Type([]agentcli.Step{{Write: []byte("\x1b[200~" + text + " \x1b[201~")}})
		a.waitLine(want, func(line string) bool { return line == want })
		a.clearLine()
		a.waitLine("empty", func(line string) bool { return !strings.Contains(line, words[0]) })
	}
	if took := a.Send("the message"); took.Text != "the message" {
		t.Errorf("it took %q", took.Text)
	}
	if end := a.Turn(); end.Text != "ANSWER[the message]" || a.Count(agentcli.SignalTook) != 1 {
		t.Errorf("the turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// mixed sends messages while something lies in the composer of which nobody knows, and which no key clears away as it comes.
// It does not reach the model, and the message does, alone and once.
func (s Suite) mixed(t *testing.T, env map[string]string) {
	a := s.start(t, env)
	for i, left := range []string{"\x15\x7f\x15\x7f", "a draft of which nobody knows ", "two lines\nof a draft\n"} {
		a.Type([]agentcli.Step{{Write: []byte("\x1b[200~" + left + "\x1b[201~"), Wait: draftPause}})
		message := fmt.Sprintf("the message %d", i)
		if took := a.Send(message); took.Text != message {
			t.Errorf("with %q in the line it took %q", left, took.Text)
		}
		if end := a.Turn(); end.Text != "ANSWER["+message+"]" || end.Interrupted || end.Error != nil {
			t.Errorf("with %q in the line the turn ended with %+v", left, end.Signal)
		}
	}
	if took, ends := a.Count(agentcli.SignalTook), a.Count(agentcli.SignalTurnEnd); took != 3 || ends != 3 {
		t.Errorf("3 messages: %d taken, %d turns\n%s", took, ends, a.History())
	}
}
