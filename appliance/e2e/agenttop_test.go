package e2e_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/creack/pty"

	"github.com/wardroom/wardroom/sdk/client"
)

// On a terminal `agent top` shows what runs again and again, outlives its server, and ends with Ctrl-C.
func TestAgentTopOnTerminal(t *testing.T) {
	t.Parallel()
	c := managed(t)
	named := c.await(c.spawn(client.ManagedAgentSpec{Type: "shell", Name: "gardener"}).ID, client.ManagedReady)

	cmd := exec.Command(binary, "agent", "top", "--interval", "250ms")
	cmd.Env = append(os.Environ(), "WARDROOM_SERVER="+c.url, "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 160, Rows: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	defer func() { _ = cmd.Process.Kill() }()
	screen := &onScreen{}
	go screen.follow(tty)
	eventually(t, "the agent on the screen", func() bool { return screen.has("gardener shell ready") })

	c.kill()
	c.start()
	c.runtimeReady()
	other := c.spawn(client.ManagedAgentSpec{Type: "shell", Name: "cook"})
	eventually(t, "the agent that came after a new start", func() bool { return screen.has("cook shell ready") })
	for _, id := range []string{named.ID, other.ID} {
		if err := c.api.StopManagedAgent(t.Context(), id, true, 0); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the last agent to leave the screen", func() bool { return screen.has("no managed agent runs") })
	if _, err := tty.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
