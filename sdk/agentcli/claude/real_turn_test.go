package claude_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// startReal starts a claude on a fake model, with the script before its hooks if it is not empty.
func startReal(t *testing.T, script, approval string, more map[string]string) *drivertest.Agent {
	t.Helper()
	return startSpec(t, script, runtime.Spec{Env: more, Approval: approval})
}

// startSpec is startReal with more of a spec.
func startSpec(t *testing.T, script string, spec runtime.Spec) *drivertest.Agent {
	t.Helper()
	drivertest.CLI(t, "claude")
	t.Parallel()
	adapter := claude.New()
	if script != "" {
		adapter = drivertest.BeforeHooks(adapter, script)
	}
	env := modelEnv(drivertest.StartModel(t).URL)
	maps.Copy(env, spec.Env)
	spec.Env = env
	a := drivertest.StartSpec(t, adapter, spec)
	a.Wait(agentcli.SignalIdle)
	return a
}

// An approval whose hook starts late is no end of the turn.
func TestRealLateApproval(t *testing.T) {
	a := startReal(t, `case "$*" in *PermissionRequest*) sleep 3;; esac; exec "$@"`, "", nil)
	for _, name := range []string{"one", "two"} {
		file := filepath.Join(a.Room.Workdir, name)
		a.Send("USE_TOOL[touch " + file + "] please")
		seen := a.Wait(agentcli.SignalBlocked, agentcli.SignalTurnEnd)
		if seen.Kind != agentcli.SignalBlocked || seen.Prompt.Tool != "Bash" {
			t.Fatalf("%s with %+v\n%s", seen.Kind, seen.Prompt, a.History())
		}
		a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
		if end := a.Turn(); !strings.Contains(end.Text, "TOOL_RESULT") || end.Interrupted {
			t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
		}
	}
	if n := a.Count(agentcli.SignalTurnEnd); n != 2 {
		t.Errorf("%d turns ended, want 2\n%s", n, a.History())
	}
}

// A dialog that no hook tells of is one to be answered all the same.
func TestRealApprovalWithoutHook(t *testing.T) {
	a := startReal(t, `case "$*" in *PermissionRequest*) exit 1;; esac; exec "$@"`, "", nil)
	file := filepath.Join(a.Room.Workdir, "made")
	a.Send("USE_TOOL[touch " + file + "] please")
	seen := a.Wait(agentcli.SignalBlocked, agentcli.SignalTurnEnd)
	if seen.Kind != agentcli.SignalBlocked || !strings.Contains(seen.Prompt.Text, "touch "+file) || len(seen.Prompt.Options) < 2 {
		t.Fatalf("%s with %+v\n%s", seen.Kind, seen.Prompt, a.History())
	}
	a.MustAnswer(runtime.Answer{Choice: "1"})
	a.Wait(agentcli.SignalUnblocked)
	if end := a.Turn(); !strings.Contains(end.Text, "TOOL_RESULT") {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A dialog that is cut off by a small terminal, and that no hook announces, can be refused.
func TestRealCutOffDialog(t *testing.T) {
	a := startSpec(t, `case "$*" in *PermissionRequest*) exit 1;; esac; exec "$@"`, runtime.Spec{Cols: 40, Rows: 10})
	file := filepath.Join(a.Room.Workdir, "made")
	a.Send("USE_TOOL[touch " + file + "] please")
	p := a.Wait(agentcli.SignalBlocked).Prompt
	a.MustAnswer(runtime.Answer{Choice: p.Options[len(p.Options)-1].ID})
	end := a.Turn()
	if _, err := os.Stat(file); err == nil || !end.Interrupted {
		t.Errorf("%+v was answered by the last of them, and the turn ended with %+v\n%s", p.Options, end.Signal, a.Screen())
	}
	a.Send("SAY[after it]")
	if end := a.Turn(); end.Text != "after it" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// With the helper of the hooks away, the transcript tells how a turn ended: what it has is the answer of this turn.
func TestRealHooksAway(t *testing.T) {
	dir := t.TempDir()
	away := filepath.Join(dir, "away")
	a := startReal(t, `[ -e '`+away+`' ] && exit 127; exec "$@"`, "", map[string]string{"CLAUDE_CODE_MAX_RETRIES": "0"})
	a.Send("before")
	a.Turn()
	if err := os.WriteFile(away, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for message, want := range map[string]string{"in between": "ANSWER[in between]", "FAIL[429] now": "", "SAY[more]": "more"} {
		a.Submit(message)
		a.Wait(agentcli.SignalBusy)
		end := a.Turn()
		if end.Text != want || end.Interrupted || (end.Error != nil) != (want == "") {
			t.Errorf("%q ended with %+v, error %+v\n%s", message, end.Signal, end.Error, a.History())
		}
		if end.Error != nil && end.Error.Code != wire.TurnModelRateLimited {
			t.Errorf("%q: %+v", message, end.Error)
		}
	}
	if err := os.Remove(away); err != nil {
		t.Fatal(err)
	}
	a.Send("after")
	if end := a.Turn(); end.Text != "ANSWER[after]" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A model that cannot be reached is no answer.
func TestRealUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	l.Close()
	a := startReal(t, "", "", map[string]string{"ANTHROPIC_BASE_URL": closed, "CLAUDE_CODE_MAX_RETRIES": "1"})
	a.Send("hello")
	if end := a.Turn(); end.Error == nil || end.Error.Code != wire.TurnModelUnavailable || !end.Error.Retryable || end.Text != "" {
		t.Errorf("turn ended with %+v, error %+v", end.Signal, end.Error)
	}
}

// A claude that reads everything at once, the keys that clear the line, the message and its Enter, takes the message.
func TestRealSlowReader(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Send("warm up")
	a.Turn()
	for i := range 3 {
		a.Keys("a draft")
		a.Type([]agentcli.Step{{Wait: 300 * time.Millisecond}})
		message := fmt.Sprintf("message %d", i)
		a.Freeze(func() { a.Submit(message) })
		if took := a.Wait(agentcli.SignalTook); took.Text != message {
			t.Errorf("took %q", took.Text)
		}
		if end := a.Turn(); end.Text != "ANSWER["+message+"]" {
			t.Errorf("turn ended with %+v", end.Signal)
		}
	}
}

// A turn tells what it used, each request once, and what was said in it, each piece once.
func TestRealUsageAndText(t *testing.T) {
	a := startReal(t, "", "autonomous", nil)
	a.Send("THINK USE_TOOLS[3] please")
	end := a.Turn()
	u := end.Usage
	if u == nil || u.Requests != 4 || u.InputTokens < 4*1000 || u.OutputTokens <= 0 || u.Model == "" || u.CostUSD != nil {
		t.Errorf("usage %+v", u)
	}
	first := *u
	a.Send("SAY[one more]")
	if end = a.Turn(); end.Usage == nil || end.Usage.Requests != 1 || end.Usage.InputTokens >= first.InputTokens {
		t.Errorf("usage %+v after %+v", end.Usage, first)
	}
	if n := a.Count(agentcli.SignalText); n != 2 {
		t.Errorf("%d texts, want one a turn\n%s", n, a.History())
	}
}

// A partial answer is told of an interrupted turn, and nothing of another.
func TestRealInterrupts(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Send("the turn before")
	a.Turn()
	for _, step := range []struct{ message, screen string }{
		{"SLOW[30] please", "slow3"}, {"HANG[30] please", "esc to interrupt"}, {"USE_TOOL[touch x; sleep 30] please", "1. "},
	} {
		a.Send(step.message)
		a.WaitScreen(step.screen)
		a.Interrupt()
		end := a.Turn()
		if !end.Interrupted || end.Error != nil || strings.Contains(end.Text, "before") {
			t.Errorf("%q ended with %+v, error %+v", step.message, end.Signal, end.Error)
		}
		a.Send("after it")
		if end := a.Turn(); end.Text != "ANSWER[after it]" || end.Interrupted {
			t.Errorf("after %q: %+v\n%s", step.message, end.Signal, a.History())
		}
	}
}

// A menu that a person opened is in the way of messages.
func TestRealMenu(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Type([]agentcli.Step{{Write: []byte("/model"), Wait: time.Second}, {Write: []byte("\r")}})
	seen := a.Wait(agentcli.SignalBlocked)
	if len(seen.Prompt.Options) < 2 || seen.Source != runtime.SourceScreen {
		t.Errorf("blocked with %+v", seen.Prompt)
	}
	a.Keys("\x1b")
	a.Wait(agentcli.SignalUnblocked)
	a.Send("a message")
	if end := a.Turn(); end.Text != "ANSWER[a message]" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A conversation that claude sums up is no end of the turn in which that comes to be. One that a person has summed up is a turn of its own:
// that it was done, failed or was interrupted is its outcome.
func TestRealCompact(t *testing.T) {
	a := startReal(t, "", "autonomous", map[string]string{"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "30", "CLAUDE_CODE_MAX_RETRIES": "0"})
	const summed = `"subtype":"compact_boundary"`
	for i := 0; i < 10 && !a.Written(summed); i++ {
		a.Send(fmt.Sprintf("USE_TOOLS[2] LONG[600] number %d", i))
		if end := a.Turn(); end.Error != nil || end.Interrupted || !strings.Contains(end.Text, "TOOL_RESULT") {
			t.Errorf("turn ended with %+v, error %+v\n%s", end.Signal, end.Error, a.History())
		}
	}
	if !a.Written(summed) {
		t.Errorf("claude summed nothing up\n%s", a.Screen())
	}
	for _, step := range [][2]string{{"/compact", ""}, {"/compact FAIL[400]", wire.TurnModelError}, {"/compact HANG[60]", ""}} {
		command, code := step[0], step[1]
		a.Keys(command)
		a.WaitScreen(command)
		a.Keys("\r")
		a.Wait(agentcli.SignalBusy)
		stop := strings.Contains(command, "HANG")
		if stop {
			a.WaitScreen("esc to interrupt")
			a.Interrupt()
		}
		end := a.Turn()
		if end.Text != "" || end.Interrupted != stop || (end.Error != nil) != (code != "") || end.Error != nil && end.Error.Code != code {
			t.Errorf("%s ended with %+v, error %+v\n%s\n%s", command, end.Signal, end.Error, a.History(), a.Screen())
		}
		a.Send("SAY[after it]")
		if end := a.Turn(); end.Text != "after it" || end.Error != nil {
			t.Errorf("after %s the turn ended with %+v, error %+v\n%s", command, end.Signal, end.Error, a.History())
		}
	}
}

// claude commits in a worktree whose repository is elsewhere, under each preset that lets it run commands.
func TestRealCommit(t *testing.T) {
	drivertest.CLI(t, "claude")
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	model := drivertest.StartModel(t)
	for _, preset := range []string{"standard", "permissive", "autonomous"} {
		t.Run(preset, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			repo, tree := filepath.Join(dir, "repo"), filepath.Join(dir, "tree")
			git := func(in string, args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(context.Background(), "git", append([]string{"-C", in, "-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("git %q: %v\n%s", args, err, out)
				}
				return string(out)
			}
			git(dir, "init", "-q", repo)
			git(repo, "commit", "-q", "--allow-empty", "-m", "first")
			git(repo, "worktree", "add", "-q", tree)
			env := modelEnv(model.URL)
			for _, role := range []string{"AUTHOR", "COMMITTER"} {
				env["GIT_"+role+"_NAME"], env["GIT_"+role+"_EMAIL"] = "t", "t@t"
			}
			a := drivertest.StartSpec(t, claude.New(), runtime.Spec{Env: env, Approval: preset, Workdir: tree})
			a.Wait(agentcli.SignalIdle)
			a.Send("USE_TOOL[echo x > x.txt && git add x.txt && git commit -qm second] please")
			for {
				seen := a.Wait(agentcli.SignalBlocked, agentcli.SignalTurnEnd)
				if seen.Kind == agentcli.SignalTurnEnd {
					break
				}
				a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
			}
			if log := git(tree, "log", "--format=%s"); log != "second\nfirst\n" {
				t.Errorf("the log has %q\n%s", log, a.Screen())
			}
		})
	}
}
