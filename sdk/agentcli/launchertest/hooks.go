package launchertest

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// hooks has the command call the hook of its room, as coding tools do, and wait for the answer. A call that nobody took
// before the launcher ended is there for the next one.
func (s *suite) hooks(t *testing.T) {
	dir := t.TempDir()
	l := s.opts.New(t, dir)
	a := s.launchRoom(t, l, dir, func(room agentcli.Room) string {
		if len(room.Hook) == 0 {
			return "exec sleep 60"
		}
		var hook strings.Builder
		for _, word := range room.Hook {
			hook.WriteString("'" + strings.ReplaceAll(word, "'", `'\''`) + "' ")
		}
		return `stty -echo; printf '{"n":1}' | ` + hook.String() + `First; echo; printf '{"n":2}' | ` + hook.String() + `Second; echo; exec sleep 60`
	})
	if len(a.room.Hook) == 0 {
		t.Skip("rooms of this launcher have no hook command")
	}
	first := a.call()
	if first.Name != "First" || string(first.Payload) != `{"n":1}` {
		t.Fatalf("the hook was called as %q with %q", first.Name, first.Payload)
	}
	out := a.open(0)
	first.Answer([]byte("answer to the first"))
	first.Answer([]byte("another one"))
	a.until(out, "answer to the first")
	if s.opts.Survives {
		if err := a.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		p, err := s.opts.New(t, dir).Find(a.ctx(), a.Handle())
		if err != nil {
			t.Fatalf("Find: %v", err)
		}
		a.Process = p
		out = a.open(0)
	}
	second := a.call()
	if second.Name != "Second" || string(second.Payload) != `{"n":2}` {
		t.Fatalf("the hook was called as %q with %q", second.Name, second.Payload)
	}
	second.Answer([]byte("answer to the second"))
	if got := a.until(out, "answer to the second"); strings.Contains(got, "another one") {
		t.Errorf("a second answer to a call counted: %q", tail(got))
	}
}

// call returns the next call of the hook.
func (a *agent) call() *agentcli.HookCall {
	a.t.Helper()
	source, ok := a.Process.(agentcli.HookSource)
	if !ok {
		a.t.Fatal("the room has a hook command, and the process is no HookSource")
	}
	select {
	case call, open := <-source.Hooks():
		if open {
			return call
		}
		a.t.Fatal("the calls of hooks ended")
	case <-time.After(Patience):
		a.t.Fatal("the hook was called, and nobody was told")
	}
	return nil
}
