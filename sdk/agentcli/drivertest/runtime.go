package drivertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// rig is a whole runtime with one agent of a real CLI.
type rig struct {
	t      *testing.T
	ctx    context.Context // of the test
	rt     *agentcli.Runtime
	events runtime.EventStream
	work   string
}

// RunRuntime runs the adapter below the real session: what callers of a runtime get to see.
func (s Suite) RunRuntime(t *testing.T) {
	t.Parallel()
	r := s.open(t, s.Env(StartModel(t).URL), 4*patience)
	begun := time.Now()
	defer func() { t.Logf("after the start: %v", time.Since(begun).Round(time.Millisecond)) }()
	for i, m := range messages {
		if i%3 == 0 { // some of each kind: the rest is Run's
			r.send(m.text)
		}
	}
	if got := r.send("hello"); got.Text != "ANSWER[hello]" {
		t.Errorf("answer %q", got.Text)
	}
	sent := time.Now()
	r.together(20)
	t.Logf("20 messages at once: %v", time.Since(sent).Round(time.Millisecond))
	r.approve(s)
	r.ask()
	if err := r.rt.Stop(r.ctx, "one", runtime.StopOptions{Grace: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if e := r.wait(runtime.EventStopped); e.Reason != runtime.ReasonStopped {
		t.Errorf("stopped as %+v", e)
	}
}

// open opens a runtime with one agent that is ready. What a caller does takes at most the limit.
func (s Suite) open(t *testing.T, env map[string]string, limit time.Duration) *rig {
	t.Helper()
	return s.openIn(t, env, "", limit)
}

// openImpatient is open with a CLI that gives up its own retries soon.
func (s Suite) openImpatient(t *testing.T, env map[string]string) *rig {
	t.Helper()
	dir := ""
	if len(s.Settings) > 0 {
		dir = t.TempDir()
	}
	for name, text := range s.Settings {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s.openIn(t, merged(env, s.Impatient), dir, outcomeLimit)
}

// openIn is open in a work directory; empty: one of the agent's own.
func (s Suite) openIn(t *testing.T, env map[string]string, workdir string, limit time.Duration) *rig {
	t.Helper()
	adapter := s.New()
	bin := CLI(t, adapter.Type())
	launcher := &Launcher{Dir: rooms(t), Path: map[string]string{adapter.Type(): bin}}
	rt, err := agentcli.NewRuntime(agentcli.Options{
		Name: "test", Launcher: launcher, StateDir: t.TempDir(), Adapters: []agentcli.Adapter{adapter},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	if err := rt.Open(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = rt.Stop(context.Background(), "one", runtime.StopOptions{Force: true})
		_ = rt.Close(context.Background())
		_ = launcher.Remove(context.Background(), "one")
	})
	events, err := rt.Events(ctx, runtime.EventOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { events.Close() })
	r := &rig{t: t, ctx: ctx, rt: rt, events: events}
	agent, err := rt.Spawn(ctx, runtime.Spec{ID: "one", Type: adapter.Type(), Env: env, Workdir: workdir})
	if err != nil {
		t.Fatal(err)
	}
	r.work = agent.Workdir
	r.wait(runtime.EventReady)
	return r
}

// wait returns the next event of a type.
func (r *rig) wait(want runtime.EventType) runtime.Event {
	r.t.Helper()
	for {
		e, err := r.events.Next()
		if err != nil {
			r.t.Fatalf("no event %s: %v", want, err)
		}
		if e.Type == want {
			return e
		}
	}
}

func (r *rig) send(message string) runtime.Response {
	r.t.Helper()
	result, err := r.rt.Send(context.Background(), "one", runtime.Input{
		Message: message, ExpectResponse: true, Timeout: patience,
	})
	if err != nil {
		r.t.Fatalf("%.60q: %v", message, err)
	}
	return *result.Response
}

// together sends messages at once: each must be taken once, and get its own answer.
func (r *rig) together(n int) {
	r.t.Helper()
	wrong := make(chan error, n)
	for i := range n {
		go func() {
			text := fmt.Sprintf("number %d", i)
			result, err := r.rt.Send(context.Background(), "one", runtime.Input{
				Message: text, ExpectResponse: true, Timeout: 2 * patience,
			})
			if err == nil && result.Response.Text != "ANSWER["+text+"]" {
				err = errors.New(text + " was answered by " + result.Response.Text)
			}
			wrong <- err
		}()
	}
	for range n {
		if err := <-wrong; err != nil {
			r.t.Error(err)
		}
	}
}

// background sends a message whose turn needs more from the caller.
func (r *rig) background(message string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		result, err := r.rt.Send(context.Background(), "one", runtime.Input{
			Message: message, ExpectResponse: true, Timeout: patience,
		})
		if err != nil {
			answer <- "error: " + err.Error()
			return
		}
		answer <- result.Response.Text
	}()
	return answer
}

func (r *rig) approve(s Suite) {
	r.t.Helper()
	file := filepath.Join(r.work, "approved")
	answer := r.background(s.Tool(file))
	blocked := r.wait(runtime.EventBlocked)
	if err := r.rt.Answer(r.ctx, "one", runtime.Answer{PromptID: blocked.Prompt.ID, Choice: runtime.ChoiceAllow}); err != nil {
		r.t.Fatal(err)
	}
	r.wait(runtime.EventUnblocked)
	if got := <-answer; !strings.Contains(got, "TOOL_RESULT") {
		r.t.Errorf("answer %q", got)
	}
	if _, err := os.Stat(file); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) ask() {
	r.t.Helper()
	answer := r.background("ASK[which?] now")
	asked := r.wait(runtime.EventQuestion)
	if err := r.rt.Answer(r.ctx, "one", runtime.Answer{PromptID: asked.Prompt.ID, Choice: "1"}); err != nil {
		r.t.Fatal(err)
	}
	if got := <-answer; !strings.Contains(got, "alpha") {
		r.t.Errorf("answer %q", got)
	}
}
