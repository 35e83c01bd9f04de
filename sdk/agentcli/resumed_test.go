package agentcli_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestCrashAfterTheBusyEvent is a kill after the event of a turn was stored and before the state was: the driver of
// a declared type, whom nobody else tells, learns that its turn runs.
func TestCrashAfterTheBusyEvent(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), nil)
	g.bash("b")
	g.ask("b", "true")
	before := g.stateOf("b", `"status":"ready"`)
	if _, err := g.Send(t.Context(), "b", runtime.Input{Message: `echo as''ks; read line; echo got $line`}); err != nil {
		t.Fatal(err)
	}
	g.stateOf("b", `"status":"busy"`)
	// What is typed while the shell hands the terminal over may be lost to both.
	p := g.l.process()
	wait(t, "the question", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(string(p.out), "asks")
	})
	next := g.crash(func(dir string) {
		if err := os.WriteFile(filepath.Join(dir, "agents", "b", "state.json"), before, 0o600); err != nil {
			t.Error(err)
		}
	})
	next.status("b", runtime.StatusBusy)
	if _, err := next.Send(t.Context(), "b", runtime.Input{Raw: "it\r"}); err != nil {
		t.Fatal(err)
	}
	next.status("b", runtime.StatusReady)
	if got := next.ask("b", "echo back").Text; got != "back" {
		t.Errorf("answer %q", got)
	}
	if got := coarse(next.events("b")); got != "started ready busy turn_complete ready busy message turn_complete ready busy message turn_complete ready" {
		t.Errorf("events %s", got)
	}
}

// TestCrashBeforeTheTurnIsKnown is a kill between that a message was recorded as taken and that its turn is: a repeat of
// the message gets the response of the turn all the same.
func TestCrashBeforeTheTurnIsKnown(t *testing.T) {
	t.Parallel()
	state := filepath.Join("agents", "b", "state.json")
	for _, c := range []struct {
		name string
		lost []string
		over bool
	}{
		{"the state is lost", []string{state}, false},
		{"the state of its end is lost", []string{state}, true},
		{"the event is lost as well", []string{state, "events.jsonl"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t, newLauncher(t, nil), nil)
			g.bash("b")
			g.ask("b", "true")
			wait(t, "the state of the first turn", func() bool {
				data, _ := os.ReadFile(filepath.Join(g.o.StateDir, state))
				return strings.Contains(string(data), `"status":"ready"`) && strings.Contains(string(data), `"turn":1`)
			})
			before := map[string][]byte{}
			for _, file := range c.lost {
				data, err := os.ReadFile(filepath.Join(g.o.StateDir, file))
				if err != nil {
					t.Fatal(err)
				}
				before[file] = data
			}
			in := runtime.Input{ID: "second", Message: `echo as''ks; read line; echo got $line`}
			if _, err := g.Send(t.Context(), "b", in); err != nil {
				t.Fatal(err)
			}
			p := g.l.process()
			wait(t, "the question", func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return strings.Contains(string(p.out), "asks")
			})
			answer := func(g *rig) {
				if _, err := g.Send(t.Context(), "b", runtime.Input{Raw: "it\r"}); err != nil {
					t.Fatal(err)
				}
			}
			if c.over {
				answer(g)
				g.status("b", runtime.StatusReady)
			}
			next := g.crash(func(dir string) {
				for file, data := range before {
					if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
						t.Error(err)
					}
				}
			})
			in.ExpectResponse = true
			got := make(chan runtime.SendResult, 1)
			go func() {
				defer close(got)
				r, err := next.Send(t.Context(), "b", in)
				if err != nil {
					t.Error(err)
				}
				got <- r
			}()
			if !c.over {
				next.status("b", runtime.StatusBusy)
				answer(next)
			}
			if r := <-got; !r.Sent || r.Response == nil || r.Response.Turn != 2 || !strings.Contains(r.Response.Text, "got it") {
				t.Errorf("the repeat got %+v", r)
			}
			if a := next.status("b", runtime.StatusReady); a.Turn != 2 {
				t.Errorf("agent %+v", a)
			}
		})
	}
}

// TestCrashWithAnOldScreen is a kill after the event of a turn was stored and before the state was, when the screen that is
// kept is that of some turns before: the answer is that of the message alone.
func TestCrashWithAnOldScreen(t *testing.T) {
	const question = `echo as''ks; read line; echo got $line`
	for _, typing := range []bool{true, false} { // whether the state that is left knows of the message
		g := open(t, newLauncher(t, nil), nil)
		g.bash("b")
		g.ask("b", "true")
		p := g.l.process()
		var note []byte
		var at uint64
		wait(t, "a checkpoint", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			note, at = p.note, p.noteAt
			return at == uint64(len(p.out))
		})
		for _, text := range []string{"echo two", "echo three"} {
			g.ask("b", text)
		}
		var before []byte
		wait(t, "the state of the third turn", func() bool {
			before = g.stateOf("b", `"status":"ready"`)
			return strings.Contains(string(before), `"turn":3`)
		})
		in := runtime.Input{ID: "fourth", Message: question}
		if _, err := g.Send(t.Context(), "b", in); err != nil {
			t.Fatal(err)
		}
		var state, busy map[string]any
		if err := errors.Join(json.Unmarshal(before, &state), json.Unmarshal(g.stateOf("b", `"status":"busy"`), &busy)); err != nil {
			t.Fatal(err)
		}
		if typing {
			driver := busy["driver"].(map[string]any)
			state["driver"].(map[string]any)["typing"] = map[string]any{"text": driver["text"], "from": driver["from"]}
		}
		left, err := json.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		wait(t, "the question", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return strings.Contains(string(p.out), "asks")
		})
		next := g.crash(func(dir string) {
			if err := os.WriteFile(filepath.Join(dir, "agents", "b", "state.json"), left, 0o600); err != nil {
				t.Error(err)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.note, p.noteAt = note, at
		})
		in.ExpectResponse = true
		got := make(chan runtime.SendResult, 1)
		go func() {
			defer close(got)
			r, err := next.Send(t.Context(), "b", in)
			if err != nil {
				t.Error(err)
			}
			got <- r
		}()
		next.status("b", runtime.StatusBusy)
		if _, err := next.Send(t.Context(), "b", runtime.Input{Raw: "it\r"}); err != nil {
			t.Fatal(err)
		}
		r := <-got
		if r.Response == nil || strings.Contains(r.Response.Text, "two") || strings.Contains(r.Response.Text, "three") ||
			!strings.HasSuffix(r.Response.Text, "asks\nit\ngot it") {
			t.Errorf("typing %t: the response is %+v", typing, r.Response)
		}
		if typing && r.Response.Text != "asks\nit\ngot it" {
			t.Errorf("the response has more than the answer: %q", r.Response.Text)
		}
	}
}
