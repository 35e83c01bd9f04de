package agentcli_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// drafted returns what the newest driver would learn now, on the session's own goroutine.
func (f *fakeType) drafted() bool {
	f.mu.Lock()
	host := f.drivers[len(f.drivers)-1].h
	f.mu.Unlock()
	told := make(chan bool, 1)
	host.After(0, func() { told <- host.(agentcli.Drafts).Drafted() })
	return <-told
}

func TestDraftsAreOnlyWhereSomebodyTyped(t *testing.T) {
	g, f := ready(t, &fakeCLI{}, func(o *agentcli.Options) { o.HumanHold = 5 * time.Millisecond })
	if f.drafted() {
		t.Error("an agent that nobody typed to has a draft")
	}
	g.ask("a", "hello")
	if f.drafted() {
		t.Error("a message that was taken left a draft")
	}
	if _, err := g.Send(t.Context(), "a", runtime.Input{Raw: "x"}); err != nil {
		t.Fatal(err)
	}
	if !f.drafted() {
		t.Error("keys over the API are no draft")
	}
	g.ask("a", "hello again")
	if f.drafted() {
		t.Error("a message that was taken left a draft")
	}
	v := g.attach("a", runtime.AttachOptions{})
	if err := v.Input([]byte("y")); err != nil {
		t.Fatal(err)
	}
	wait(t, "the key of a person to count", f.drafted)
}

func TestAdoptedAgentMayHaveADraft(t *testing.T) {
	g, f := ready(t, &fakeCLI{}, nil)
	next := g.crash()
	next.status("a", runtime.StatusReady)
	if !f.drafted() {
		t.Error("nobody knows what was typed before, and still there is no draft")
	}
}
