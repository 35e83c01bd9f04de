package agentcli_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestEscapeAmongKeys gives Escape and other keys in one call.
func TestEscapeAmongKeys(t *testing.T) {
	t.Parallel()
	g, _ := ready(t, &fakeCLI{}, nil)
	from := time.Now()
	if _, err := g.Send(t.Context(), "a", runtime.Input{Keys: []string{"TAB", "UP", "ESC", "ESC", "ENTER"}}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(from); took < 2*agentcli.EscapeGap {
		t.Errorf("all was typed within %v", took)
	}
	p := g.l.process()
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := string(p.written); got != "\t\x1b[A\x1b\x1b\r" {
		t.Errorf("typed %q", got)
	}
}

// TestEscapeIsAKeyOfItsOwn presses Escape and types at once: the CLI gets what is typed only once it can tell it from Alt and
// the first letter, which opened a dialog in claude.
func TestEscapeIsAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, reads := range []bool{true, false} {
		t.Run(fmt.Sprint("reads ", reads), func(t *testing.T) {
			t.Parallel()
			c := &fakeCLI{}
			g, _ := ready(t, c, nil)
			frozen := make(chan struct{})
			if !reads {
				c.mu.Lock()
				c.frozen = frozen
				c.mu.Unlock()
				// What the CLI is about to read, before it stops.
				if _, err := g.Send(t.Context(), "a", runtime.Input{Raw: "x"}); err != nil {
					t.Fatal(err)
				}
			}
			from := time.Now()
			if _, err := g.Send(t.Context(), "a", runtime.Input{Keys: []string{"ESC"}}); err != nil {
				t.Fatal(err)
			}
			typed := make(chan error, 1)
			go func() {
				_, err := g.Send(context.Background(), "a", runtime.Input{Raw: "typed"})
				typed <- err
			}()
			p := g.l.process()
			written := func() string {
				p.mu.Lock()
				defer p.mu.Unlock()
				return string(p.written)
			}
			if !reads {
				until := time.Now().Add(3 * agentcli.EscapeGap)
				wait(t, "the gap to be over", func() bool { return time.Now().After(until) })
				if got := written(); got != "x\x1b" {
					t.Errorf("%q was typed although the CLI had not read Escape", got)
				}
				close(frozen)
			}
			if err := <-typed; err != nil {
				t.Fatal(err)
			}
			if took := time.Since(from); took < agentcli.EscapeGap {
				t.Errorf("typed %v behind Escape", took)
			}
		})
	}
}
