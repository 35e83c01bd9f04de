package claude_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// helper makes a call that starts an agent which does what its prompt says.
func helper(prompt string) string {
	return `CALL[Agent {"description":"helper","prompt":"` + prompt + `","subagent_type":"general-purpose"}]`
}

// A turn in which a helper works lasts until it is done: what it asks is asked in it, and what it uses is counted.
func TestRealHelper(t *testing.T) {
	a := startReal(t, "", "", nil)
	for i, tt := range []struct {
		choice, key string
		made        bool
	}{{runtime.ChoiceAllow, "", true}, {runtime.ChoiceDeny, "", false}, {"", "1", true}} {
		asked, ended := a.Count(agentcli.SignalBlocked), a.Count(agentcli.SignalTurnEnd)
		file := filepath.Join(a.Room.Workdir, strconv.Itoa(i))
		a.Send(helper("USE_TOOL[sleep 1; touch "+file+"] now") + " please")
		seen := a.Wait(agentcli.SignalBlocked, agentcli.SignalTurnEnd)
		if seen.Kind != agentcli.SignalBlocked || seen.Prompt.Tool != "Bash" || seen.Source != runtime.SourceHook ||
			!strings.Contains(fmt.Sprint(seen.Prompt.Input["command"]), "touch "+file) {
			t.Fatalf("%s with %+v\n%s", seen.Kind, seen.Prompt, a.History())
		}
		if tt.key != "" {
			done := a.Press(tt.key+". Yes", tt.key)
			a.Wait(agentcli.SignalUnblocked)
			done()
		} else {
			a.MustAnswer(runtime.Answer{Choice: tt.choice})
		}
		end := a.Turn()
		// Of the turn's two parts, and of its helper.
		if u := end.Usage; u == nil || u.Requests != 2+2 || u.InputTokens < 4*1000 {
			t.Errorf("%+v: usage %+v", tt, u)
		}
		if _, err := os.Stat(file); (err == nil) != tt.made {
			t.Errorf("%+v: %v", tt, err)
		}
		if n := a.Count(agentcli.SignalBlocked) - asked; n != 1 || a.Count(agentcli.SignalTurnEnd) != ended+1 ||
			!strings.Contains(end.Text, "hand-back") || end.Error != nil || end.Interrupted {
			t.Errorf("%+v: %d prompts, and the turn ended with %+v, error %+v\n%s\n%s", tt, n, end.Signal, end.Error, a.History(), a.Screen())
		}
	}
	a.Send("SAY[after them]")
	if end := a.Turn(); end.Text != "after them" || end.Usage == nil || end.Usage.Requests != 1 {
		t.Errorf("turn ended with %+v, usage %+v\n%s", end.Signal, end.Usage, a.History())
	}
}

// What a person refuses to a helper ends neither the turn nor what another one asks.
func TestRealHelperRefusedByKey(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Send(helper("USE_TOOL[touch none] now") + " please")
	a.Wait(agentcli.SignalBlocked)
	a.WaitScreen("1. Yes")
	a.Keys("\x1b")
	if end := a.Turn(); end.Interrupted || end.Error != nil || !strings.Contains(end.Text, "hand-back") {
		t.Errorf("turn ended with %+v, error %+v\n%s\n%s", end.Signal, end.Error, a.History(), a.Screen())
	}
	done := a.Count(agentcli.SignalToolDone)
	a.Send("TOGETHER " + helper("USE_TOOL[touch one] now") + helper("USE_TOOL[touch two] then") + " please")
	a.Wait(agentcli.SignalBlocked)
	eventually(t, "both ask", func() bool { return a.Count(agentcli.SignalTool) == 2+4 })
	a.WaitScreen("1. Yes")
	a.Keys("\x1b") // to the one that stands first
	eventually(t, "its helper is over", func() bool { return a.Count(agentcli.SignalToolDone) == done+1 })
	a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow}) // to the other one
	end := a.Turn()
	_, one := os.Stat(filepath.Join(a.Room.Workdir, "one"))
	_, two := os.Stat(filepath.Join(a.Room.Workdir, "two"))
	if (one == nil) == (two == nil) || end.Interrupted || end.Error != nil || !strings.Contains(end.Text, "hand-back") {
		t.Errorf("%v, %v; the turn ended with %+v, error %+v\n%s\n%s", one, two, end.Signal, end.Error, a.History(), a.Screen())
	}
}

// An interrupt ends a turn in which helpers ask, too.
func TestRealHelperInterruptedAsking(t *testing.T) {
	a := startReal(t, "", "", nil)
	for i, message := range []string{helper("USE_TOOL[touch x] now"), "TOGETHER " + helper("USE_TOOL[touch y] now") + helper("USE_TOOL[touch z] then")} {
		tools := a.Count(agentcli.SignalTool)
		a.Send(message + " SLOW[60]")
		a.Wait(agentcli.SignalBlocked)
		eventually(t, "all ask", func() bool { return a.Count(agentcli.SignalTool) == tools+2*(i+1) })
		a.WaitScreen("1. Yes")
		a.Interrupt()
		if end := a.Turn(); !end.Interrupted || end.Error != nil {
			t.Errorf("turn ended with %+v, error %+v\n%s\n%s", end.Signal, end.Error, a.History(), a.Screen())
		}
	}
	a.Send("SAY[after it]")
	if end := a.Turn(); end.Text != "after it" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// An interrupt ends a turn in which more helpers ask than Escape is pressed for, and what each asks.
func TestRealManyHelpersInterrupted(t *testing.T) {
	const helpers = 12
	a := startReal(t, "", "", nil)
	message := "TOGETHER "
	for i := range helpers {
		message += helper(fmt.Sprintf("USE_TOOL[touch m%d] now", i))
	}
	a.Send(message + " SLOW[60]")
	a.Wait(agentcli.SignalBlocked)
	eventually(t, "all ask", func() bool { return a.Count(agentcli.SignalTool) == 2*helpers })
	a.WaitScreen("1. Yes")
	a.Interrupt()
	end := a.Turn()
	made, err := filepath.Glob(filepath.Join(a.Room.Workdir, "m*"))
	if !end.Interrupted || end.Error != nil || len(made) > 0 || err != nil {
		t.Errorf("made %v, %v; turn ended with %+v, error %+v\n%s\n%s", made, err, end.Signal, end.Error, a.History(), a.Screen())
	}
	a.Send("SAY[after it]")
	if end := a.Turn(); end.Text != "after it" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// Helpers that ask for the same command are asked about one by one, though one runs it while another asks.
func TestRealHelpersAskForTheSame(t *testing.T) {
	const helpers = 3
	a := startReal(t, "", "", nil)
	file := filepath.Join(a.Room.Workdir, "log")
	a.Send("TOGETHER " + strings.Repeat(helper("USE_TOOL[echo x >> "+file+"] now"), helpers) + " please")
	eventually(t, "all ask", func() bool { return a.Count(agentcli.SignalTool) == 2*helpers })
	for i := range helpers {
		if seen := a.Wait(agentcli.SignalBlocked, agentcli.SignalTurnEnd); seen.Kind != agentcli.SignalBlocked {
			t.Fatalf("%s with %+v\n%s", seen.Kind, seen, a.History())
		}
		a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
		eventually(t, "what was allowed runs", func() bool {
			data, _ := os.ReadFile(file)
			return strings.Count(string(data), "x") == i+1
		})
	}
	if end := a.Turn(); end.Error != nil || end.Interrupted || a.Count(agentcli.SignalBlocked) != helpers {
		t.Errorf("turn ended with %+v, error %+v\n%s\n%s", end.Signal, end.Error, a.History(), a.Screen())
	}
}

// Behind a restart that lost the hooks each of several helpers is asked about in its own dialog: files of one name in two folders, and a
// command.
func TestRealHelpersWriteBehindARestart(t *testing.T) {
	a := startReal(t, "", "", nil)
	at := func(name string) string { return filepath.Join(a.Room.Workdir, name) }
	write := func(name string) string {
		return helper(`CALL[Write {\"file_path\":\"` + at(name) + `\",\"content\":\"touch made\"}] now`)
	}
	a.Send("TOGETHER " + write("one.md") + write("sub/one.md") + helper("USE_TOOL[touch made] now") + " please")
	eventually(t, "all ask", func() bool { return a.Count(agentcli.SignalTool) == 2*3 })
	a.WaitScreen("of 3")
	a.ReloadWithoutHooks()
	choices := map[string]string{at("one.md"): runtime.ChoiceAllow, at("sub/one.md"): runtime.ChoiceDeny, "touch made": runtime.ChoiceAllow}
	for len(choices) > 0 {
		eventually(t, "one is answered", func() bool {
			p := a.Asked()
			if p == nil {
				return false
			}
			_, what, _ := strings.Cut(p.Text, ": ")
			choice, open := choices[what]
			if !open {
				return false
			}
			err := a.Answer(runtime.Answer{Choice: choice})
			if err == nil {
				delete(choices, what)
			} else if runtime.ErrorCode(err) != runtime.CodeNoPrompt {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	end := a.Turn()
	for name, made := range map[string]bool{"one.md": true, "sub/one.md": false, "made": true} {
		if _, err := os.Stat(at(name)); (err == nil) != made {
			t.Errorf("%s: %v", name, err)
		}
	}
	if end.Interrupted || end.Error != nil || !strings.Contains(end.Text, "hand-back") {
		t.Errorf("the turn ended with %+v, error %+v\n%s\n%s", end.Signal, end.Error, a.History(), a.Screen())
	}
}

// Helpers that one message starts work at once: each waits for what the other makes. Both ask, one after the other.
func TestRealHelpersAtOnce(t *testing.T) {
	a := startReal(t, "", "", nil)
	meet := func(mine, other string) string {
		return helper("USE_TOOL[touch " + mine + "; for i in $(seq 300); do test -e " + other + " && exit 0; sleep 0.1; done; exit 1] now")
	}
	a.Send("TOGETHER " + meet("one", "two") + meet("two", "one") + " please")
	for range 2 {
		a.Wait(agentcli.SignalBlocked)
		a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
	}
	end := a.Turn()
	if u := end.Usage; u == nil || u.Requests != 2+2*2 || end.Error != nil || strings.Contains(end.Text, "Exit code") {
		t.Errorf("usage %+v; the turn ended with %+v, error %+v\n%s\n%s", end.Usage, end.Signal, end.Error, a.History(), a.Screen())
	}
	if n := a.Count(agentcli.SignalBlocked); n != 2 || a.Count(agentcli.SignalTurnEnd) != 1 {
		t.Errorf("%d prompts\n%s", n, a.History())
	}
}

// Of several helpers that ask in the same moment an answer allows what its prompt is about, and nothing else.
func TestRealHelpersAllowed(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Send("TOGETHER " + helper("USE_TOOL[touch made-one] now") + helper("USE_TOOL[touch made-one1] now") + helper("USE_TOOL[touch made-two] now") + " please")
	choice, allowed := runtime.ChoiceAllow, ""
	for range 3 {
		if p := a.Wait(agentcli.SignalBlocked).Prompt; choice == runtime.ChoiceAllow {
			command, _ := p.Input["command"].(string)
			allowed = strings.TrimPrefix(command, "touch ")
		}
		a.MustAnswer(runtime.Answer{Choice: choice})
		choice = runtime.ChoiceDeny
	}
	end := a.Turn()
	made, err := filepath.Glob(filepath.Join(a.Room.Workdir, "made-*"))
	if err != nil || len(made) != 1 || filepath.Base(made[0]) != allowed {
		t.Errorf("allowed was %q, and it made %q, %v: %+v\n%s", allowed, made, err, end.Signal, a.History())
	}
}

// An interrupt ends the turn and the helper that works in it, with what that runs.
func TestRealHelperInterrupted(t *testing.T) {
	a := startReal(t, "", "autonomous", nil)
	name := filepath.Join(a.Room.Workdir, "pid")
	a.Send(helper("USE_TOOL[echo $$ > "+name+"; exec sleep 600] now") + " please")
	var pid int
	eventually(t, "its command runs", func() bool {
		data, _ := os.ReadFile(name)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return pid > 0
	})
	a.Reload() // as after a crash of the runtime
	a.Interrupt()
	if end := a.Turn(); !end.Interrupted || end.Error != nil || end.Usage == nil || end.Usage.Requests != 1+1 {
		t.Errorf("turn ended with %+v, error %+v, usage %+v\n%s", end.Signal, end.Error, end.Usage, a.History())
	}
	eventually(t, "its command ends", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	a.Send("SAY[after it]")
	if end := a.Turn(); end.Text != "after it" || a.Count(agentcli.SignalTurnEnd) != 2 {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A helper that the model's provider refuses ends no turn: claude goes on with what it was told of it.
func TestRealHelperFails(t *testing.T) {
	a := startReal(t, "", "autonomous", map[string]string{"CLAUDE_CODE_MAX_RETRIES": "1"})
	for _, prompt := range []string{"FAIL[400] now", "FAIL[529] then", "CUT please"} {
		a.Send(helper(prompt) + " please")
		end := a.Turn()
		if end.Error != nil || !strings.Contains(end.Text, "TOOL_RESULT") || end.Usage == nil {
			t.Errorf("%q: turn ended with %+v, error %+v\n%s\n%s", prompt, end.Signal, end.Error, a.History(), a.Screen())
		}
	}
	a.Send("FAIL[400] after them")
	if end := a.Turn(); end.Error == nil || end.Error.Code != wire.TurnModelError {
		t.Errorf("turn ended with %+v, error %+v\n%s", end.Signal, end.Error, a.History())
	}
	if n := a.Count(agentcli.SignalTurnEnd); n != 4 {
		t.Errorf("%d turns ended\n%s", n, a.History())
	}
}

// With background work back, the turn ends while the helper works, and what comes of it is a turn of its own.
func TestRealHelperInBackground(t *testing.T) {
	a := startReal(t, "", "autonomous", map[string]string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "0"})
	a.Send(helper("USE_TOOL[sleep 3; touch made] SAY[it is made] now") + " please")
	if end := a.Turn(); !strings.Contains(end.Text, "launched successfully") || end.Error != nil {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	if took := a.Wait(agentcli.SignalTook); !strings.HasPrefix(took.Text, "<task-notification>") {
		t.Errorf("took %q", took.Text)
	}
	end := a.Turn()
	if _, err := os.Stat(filepath.Join(a.Room.Workdir, "made")); err != nil || end.Error != nil {
		t.Errorf("turn ended with %+v, error %+v; %v\n%s", end.Signal, end.Error, err, a.History())
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("it does not come: %s", what)
		}
	}
}
