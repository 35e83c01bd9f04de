package cmd_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/vt"
)

// TestKeyNamesAreDocumented holds the page to the keys that a runtime knows.
func TestKeyNamesAreDocumented(t *testing.T) {
	page := readDoc(t, "docs/managed-agents.md")
	for _, name := range vt.KeyNames() {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/managed-agents.md does not list the key %s", name)
		}
	}
}

// TestManagedEventsAreDocumented holds the page to the types of events.
func TestManagedEventsAreDocumented(t *testing.T) {
	page := readDoc(t, "docs/managed-agents.md")
	for _, kind := range []core.EventType{
		core.EventManagedStarted, core.EventManagedReady, core.EventManagedBusy, core.EventManagedBlocked,
		core.EventManagedQuestion, core.EventManagedUnblocked, core.EventManagedLogin, core.EventManagedTool, core.EventManagedToolDone,
		core.EventManagedTurnComplete, core.EventManagedMessage, core.EventManagedStuck, core.EventManagedError,
		core.EventManagedStopped,
	} {
		if !strings.Contains(page, "`"+string(kind)+"`") {
			t.Errorf("docs/managed-agents.md does not list the event %s", kind)
		}
	}
}
