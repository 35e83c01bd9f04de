package docker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestLeftoverUnreadable has the disk of the rooms give errors: a container whose record cannot be read may be an agent's, and stays.
func TestLeftoverUnreadable(t *testing.T) {
	l := &Launcher{}
	l.rooms.Dir = t.TempDir()
	one := &container.Summary{Labels: map[string]string{labelRole: roleAgent, labelAgent: "agent-1", labelNonce: "00"}}
	if !l.leftover(one) {
		t.Error("a container without a room stays")
	}
	record := filepath.Join(l.room("agent-1"), lifeFile)
	if err := os.MkdirAll(record, 0o700); err != nil { // a read of it is EISDIR
		t.Fatal(err)
	}
	if l.leftover(one) {
		t.Error("a container is removed whose record cannot be read")
	}
	if err := errors.Join(os.Remove(record), os.WriteFile(record, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if l.leftover(one) {
		t.Error("a container is removed whose record is damaged")
	}
}

// TestUnreadRecord has a record that cannot be read, as without a free descriptor: its agent is not taken for gone, nor for removed,
// while its container may run on.
func TestUnreadRecord(t *testing.T) {
	l := &Launcher{}
	l.rooms.Dir = t.TempDir()
	record := filepath.Join(l.room("agent-1"), lifeFile)
	if err := os.MkdirAll(record, 0o700); err != nil { // a read of it is EISDIR
		t.Fatal(err)
	}
	if _, err := l.Latest(t.Context(), "agent-1", time.Time{}); errors.Is(err, agentcli.ErrGone) || runtime.ErrorCode(err) != runtime.CodeInternal {
		t.Errorf("its latest life: %v", err)
	}
	if err := l.Remove(t.Context(), "agent-1"); runtime.ErrorCode(err) != runtime.CodeInternal {
		t.Errorf("its removal: %v", err)
	}
	if _, err := os.Stat(record); err != nil {
		t.Errorf("its record: %v", err)
	}
}
