package gemini_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// realRuntime is a runtime with one agent, which runs the real gemini.
type realRuntime struct {
	t      *testing.T
	ctx    context.Context
	rt     *agentcli.Runtime
	events runtime.EventStream
	dir    string
}

func openReal(t *testing.T, spec runtime.Spec) *realRuntime {
	t.Helper()
	bin := drivertest.CLI(t, "gemini")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	launcher := &drivertest.Launcher{Dir: filepath.Join(dir, "rooms"), Path: map[string]string{"gemini": bin}}
	rt, err := agentcli.NewRuntime(agentcli.Options{
		Name: "test", Launcher: launcher, StateDir: filepath.Join(dir, "state"), Adapters: []agentcli.Adapter{gemini.New()},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	if err := rt.Open(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = rt.Stop(context.Background(), "one", runtime.StopOptions{Force: true})
		_ = rt.Close(context.Background())
		_ = launcher.Remove(context.Background(), "one")
	})
	r := &realRuntime{t: t, ctx: ctx, rt: rt, dir: launcher.Dir}
	if r.events, err = rt.Events(ctx, runtime.EventOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.events.Close() })
	spec.ID, spec.Type = "one", "gemini"
	if _, err := rt.Spawn(ctx, spec); err != nil {
		t.Fatal(err)
	}
	r.wait(runtime.EventReady)
	return r
}

func (r *realRuntime) wait(want runtime.EventType) runtime.Event {
	r.t.Helper()
	for {
		e, err := r.events.Next()
		if err != nil {
			r.t.Fatalf("no event %s: %v", want, err)
		}
		if e.Type == want {
			return e
		}
		if e.Type == runtime.EventStopped && want == runtime.EventReady && e.Reason != runtime.ReasonStopped {
			r.t.Fatalf("it stopped: %s", e.Reason)
		}
	}
}

func (r *realRuntime) send(message string) runtime.Response {
	r.t.Helper()
	for {
		result, err := r.rt.Send(r.ctx, "one", runtime.Input{Message: message, ExpectResponse: true, Timeout: 2 * time.Minute})
		if err == nil {
			return *result.Response
		}
		if e := runtime.AsError(err); !e.Retry || r.ctx.Err() != nil {
			r.t.Fatalf("%.60q: %v", message, err)
		}
	}
}

// restart starts the agent again, and returns what its start says.
func (r *realRuntime) restart() string {
	r.t.Helper()
	if _, err := r.rt.Restart(r.ctx, "one", runtime.RestartOptions{}); err != nil {
		r.t.Fatal(err)
	}
	said := r.wait(runtime.EventStarted).Reason
	for {
		e, err := r.events.Next()
		switch {
		case err != nil:
			r.t.Fatal(err)
		case e.Type == runtime.EventStopped:
			r.t.Fatalf("it stopped: %s", e.Reason)
		case e.Type == runtime.EventStarted:
			said += e.Reason
		case e.Type == runtime.EventReady:
			return said
		}
	}
}

// A gemini has nothing to resume before its first message, or when its session is gone: it begins a new one.
func TestRealRestart(t *testing.T) {
	drivertest.CLI(t, "gemini")
	r := openReal(t, runtime.Spec{Env: modelEnv(drivertest.StartModel(t).URL)})
	if said := r.restart(); said != "" {
		t.Errorf("a restart before the first message says %q", said)
	}
	if got := r.send("hello"); got.Text != "ANSWER[hello]" {
		t.Errorf("answer %+v", got)
	}
	if said := r.restart(); said != "" {
		t.Errorf("a restart that resumes says %q", said)
	}
	if got := r.send("again"); got.Text != "ANSWER[again]" || got.Usage == nil || got.Usage.Requests != 1 || got.Usage.InputTokens == 0 || got.Usage.Model == "" {
		t.Errorf("answer %+v, usage %+v", got, got.Usage)
	}
	chats, err := filepath.Glob(filepath.Join(r.dir, "one", "home", ".gemini", "tmp", "*", "chats"))
	if err != nil || len(chats) != 1 {
		t.Fatalf("transcripts in %q, %v", chats, err)
	}
	if err := r.rt.Stop(r.ctx, "one", runtime.StopOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	r.wait(runtime.EventStopped)
	if err := os.RemoveAll(chats[0]); err != nil {
		t.Fatal(err)
	}
	if said := r.restart(); !strings.HasPrefix(said, "began a new session: ") {
		t.Errorf("a restart without the session says %q", said)
	}
	if got := r.send("anew"); got.Text != "ANSWER[anew]" {
		t.Errorf("answer %+v", got)
	}
}

// A worktree's git directory is elsewhere. Every preset that may run commands can commit in it.
func TestRealCommit(t *testing.T) {
	drivertest.CLI(t, "gemini")
	model := drivertest.StartModel(t)
	for _, approval := range []string{"standard", "permissive", "autonomous"} {
		t.Run(approval, func(t *testing.T) {
			tree := worktree(t)
			env := modelEnv(model.URL)
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				env["GIT_"+who+"_NAME"], env["GIT_"+who+"_EMAIL"] = "a", "a@example.com"
			}
			r := openReal(t, runtime.Spec{Env: env, Approval: approval, Workdir: tree})
			done := make(chan runtime.Response, 1)
			go func() {
				result, err := r.rt.Send(r.ctx, "one", runtime.Input{
					Message: "USE_TOOL[echo x > x.txt && git add x.txt && git commit -qm made-by-gemini] please", ExpectResponse: true, Timeout: 2 * time.Minute,
				})
				if err != nil {
					t.Error(err)
					done <- runtime.Response{}
					return
				}
				done <- *result.Response
			}()
			if approval != "autonomous" {
				p := r.wait(runtime.EventBlocked).Prompt
				if err := r.rt.Answer(r.ctx, "one", runtime.Answer{PromptID: p.ID, Choice: runtime.ChoiceAllow}); err != nil {
					t.Error(err)
				}
			}
			answer := <-done
			if out := git(t, tree, "log", "-1", "--format=%s"); out != "made-by-gemini" {
				t.Errorf("the last commit is %q; the agent said %+v", out, answer)
			}
		})
	}
}

// worktree returns a worktree of a new repository with one commit.
func worktree(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, tree := filepath.Join(dir, "main"), filepath.Join(dir, "tree")
	git(t, dir, "init", "-q", main)
	git(t, main, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first")
	git(t, main, "worktree", "add", "-q", "-b", "work", tree)
	return tree
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// gemini draws a long answer for seconds after its hook, and is deaf meanwhile: it is not ready before.
func TestRealLongAnswer(t *testing.T) {
	drivertest.CLI(t, "gemini")
	r := openReal(t, runtime.Spec{Env: modelEnv(drivertest.StartModel(t).URL)})
	for _, message := range []string{"LONG[3000] please", "the next", "LONG[2000] again", "the last"} {
		result, err := r.rt.Send(r.ctx, "one", runtime.Input{Message: message, ExpectResponse: true, Timeout: 2 * time.Minute})
		if err != nil {
			t.Fatalf("%q: %v", message, err)
		}
		if !strings.HasPrefix(result.Response.Text, "ANSWER["+message+"]") || result.Response.Error != nil {
			t.Errorf("%q was answered by %.100q, %+v", message, result.Response.Text, result.Response.Error)
		}
	}
}
