package agentcli_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestRawOnce repeats inputs that are no messages: what has an id is typed once, over the end of the runtime too.
func TestRawOnce(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{}
	g, _ := ready(t, c, nil)
	p := g.l.process()
	typed := func(words string) int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Count(string(p.written), words)
	}
	raw, keys := runtime.Input{Raw: "by hand", ID: "r1"}, runtime.Input{Keys: []string{"Tab"}, ID: "r2"}
	for range 2 {
		for range 2 {
			for _, in := range []runtime.Input{raw, keys} {
				if got, err := g.Send(t.Context(), "a", in); err != nil || !got.Sent {
					t.Fatalf("%+v: %+v, %v", in, got, err)
				}
			}
		}
		g = g.crash()
		g.status("a", runtime.StatusReady)
	}
	if typed("by hand") != 1 || typed("\t") != 1 {
		t.Errorf("typed %q", p.written)
	}
	for _, in := range []runtime.Input{{Raw: "other", ID: "r1"}, {Message: "by hand", ID: "r1"}, {Keys: []string{"Enter"}, ID: "r2"}, {Interrupt: true, ID: "r2"}} {
		_, err := g.Send(t.Context(), "a", in)
		wantCode(t, err, runtime.CodeInvalidArgument)
	}
	// What was refused may be sent again, and many of them push no message out.
	if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "work", ID: "m1", ExpectResponse: true}); err != nil {
		t.Fatal(err)
	}
	stop := runtime.Input{Interrupt: true, ID: "r3"}
	for range 2 {
		_, err := g.Send(t.Context(), "a", stop)
		wantCode(t, err, runtime.CodeNotRunning)
	}
	for i := range 300 {
		if _, err := g.Send(t.Context(), "a", runtime.Input{Raw: ".", ID: "many" + strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	again, err := g.Send(t.Context(), "a", runtime.Input{Message: "work", ID: "m1", ExpectResponse: true})
	if err != nil || again.Response == nil || len(c.messages()) != 1 {
		t.Errorf("the message once more: %+v, %v; the CLI took %q", again, err, c.messages())
	}
}

// TestRawCutOff ends the runtime while it types: the input is not typed again.
func TestRawCutOff(t *testing.T) {
	t.Parallel()
	g, _ := ready(t, &fakeCLI{}, nil)
	p := g.l.process()
	p.mu.Lock()
	p.deaf = true
	p.mu.Unlock()
	ended := make(chan error, 1)
	go func() {
		_, err := g.Send(t.Context(), "a", runtime.Input{Raw: "by hand", ID: "r1"})
		ended <- err
	}()
	wait(t, "the typing", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(string(p.written), "by hand")
	})
	next := g.crash()
	p.mu.Lock()
	p.deaf = false
	p.mu.Unlock()
	next.status("a", runtime.StatusReady)
	_, err := next.Send(t.Context(), "a", runtime.Input{Raw: "by hand", ID: "r1"})
	wantCode(t, err, runtime.CodeDeliveryUnknown)
	g.close()
	<-ended
}
