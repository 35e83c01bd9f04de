package docker_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// TestFormerRoom reads in the room of an agent without a container, as one that takes over its session does.
func TestFormerRoom(t *testing.T) {
	e, ctx := need(t), within(t)
	l := e.open(t, t.TempDir(), nil)
	spec := shell(id(t))
	room, err := l.Prepare(ctx, &spec)
	if err != nil {
		t.Fatal(err)
	}
	session := filepath.Join(room.Home, "session")
	if err := os.WriteFile(session, []byte("words"), 0o600); err != nil {
		t.Fatal(err)
	}
	former, err := l.Room(ctx, &spec)
	if err != nil || former.Home != room.Home || former.Workdir != room.Workdir {
		t.Fatalf("the room is %+v, %v", former, err)
	}
	if text, err := former.ReadFile(session); err != nil || string(text) != "words" {
		t.Errorf("it has %q, %v", text, err)
	}
	if _, err := former.ReadFile("/etc/passwd"); err == nil {
		t.Error("a file outside of the room was read")
	}
	if err := l.Remove(ctx, spec.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Room(ctx, &spec); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("a room that was removed: %v", err)
	}
}
