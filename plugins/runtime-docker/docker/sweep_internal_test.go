package docker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/docker/docker/api/types/container"
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
