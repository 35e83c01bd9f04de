package agentcli_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// TestFrozen ends the runtime while its CLI reads nothing, and sends the message again whose delivery is unknown: it is not
// typed behind the first one, and the turn that comes of that is its own. Where the CLI took nothing, it is typed.
func TestFrozen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ignore int  // messages that the CLI does not take
		prints bool // there is output of it, although it reads nothing
		mute   bool // its process does not tell what was read
	}{"taken": {}, "not taken": {ignore: 1}, "prints": {prints: true}, "mute": {mute: true}, "mute, not taken": {ignore: 1, mute: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ignore := test.ignore
			c := &fakeCLI{ignore: ignore, draws: true}
			g, _ := ready(t, c, nil)
			frozen := make(chan struct{})
			c.mu.Lock()
			c.frozen = frozen
			c.mu.Unlock()
			first := make(chan error, 1)
			go func() {
				_, err := g.Send(context.Background(), "a", runtime.Input{Message: "hello", ID: "i1"})
				first <- err
			}()
			p := g.l.process()
			wait(t, "the message and its Enter", func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return strings.HasSuffix(string(p.written), "hello\x1b[201~\r")
			})
			p.mu.Lock()
			p.mute = test.mute
			p.mu.Unlock()
			next := g.crash()
			next.status("a", runtime.StatusReady)
			_, err := next.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: "i1"})
			wantCode(t, err, runtime.CodeDeliveryUnknown)
			type outcome struct {
				result runtime.SendResult
				err    error
			}
			second := make(chan outcome, 1)
			go func() {
				result, err := next.Send(context.Background(), "a", runtime.Input{Message: "hello", ID: wire.ResendKey("i1", 2), ExpectResponse: true})
				second <- outcome{result, err}
			}()
			wait(t, "the message in the queue", func() bool {
				n, err := next.Queued(t.Context(), "a")
				return err == nil && n == 1
			})
			if test.prints { // on and on for longer than a CLI that reads needs to show what it took
				until := time.Now().Add(agentcli.BacklogRest + time.Second)
				wait(t, "the message to wait on", func() bool {
					p.print("\x1b[s\x1b[u")
					return time.Now().After(until)
				})
			}
			close(frozen)
			got := <-second
			if got.err != nil || got.result.Response == nil || got.result.Response.Text != "ANSWER[hello]" {
				t.Errorf("sent again: %+v, %v", got.result, got.err)
			}
			if ignore == 0 { // and once more, as after another crash
				again, err := next.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: wire.ResendKey("i1", 3), ExpectResponse: true})
				if err != nil || again.Response == nil || again.Response.Text != "ANSWER[hello]" {
					t.Errorf("sent a third time: %+v, %v", again, err)
				}
				other, err := next.Send(t.Context(), "a", runtime.Input{Message: "other", ID: wire.ResendKey("i1", 4), ExpectResponse: true})
				if err != nil || other.Response == nil || other.Response.Text != "ANSWER[other]" {
					t.Errorf("another message: %+v, %v", other, err)
				}
			}
			<-first
			want := []string{"hello", "other"}[:2-ignore]
			if got := c.messages(); !slices.Equal(got, want) {
				t.Errorf("the CLI took %q, want %q", got, want)
			}
		})
	}
}
