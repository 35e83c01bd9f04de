package cmd

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// TestStatusIsSaidOnce has no reason behind a status that says no more than the status.
func TestStatusIsSaidOnce(t *testing.T) {
	for reason, want := range map[string]string{"": "stopped", "stopped": "stopped", "the execution is over": "stopped (the execution is over)"} {
		a := client.ManagedAgent{ManagedAgent: wire.ManagedAgent{Status: client.ManagedStopped, StatusReason: reason}}
		if got := managedStatus(&a).text; got != want {
			t.Errorf("an agent is %q, want %q", got, want)
		}
		if got := threadStatus("stopped", reason).text; got != want {
			t.Errorf("a thread is %q, want %q", got, want)
		}
	}
}
