package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

// `agent send --wait` gives the answer of its turn though the core is killed in the middle of it, with the next one on the
// same address, and the message is done once. So it is when the turn ends while no core runs.
func TestSendWaitOverAKill(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []bool{false, true} {
		t.Run(fmt.Sprintf("EndsMeanwhile=%t", meanwhile), func(t *testing.T) {
			c := managed(t)
			dir := t.TempDir() // before the agent: what is made beside a folder of the service later is shut
			a := c.shell()
			gate, done := filepath.Join(dir, "gate"), filepath.Join(dir, "done")
			type outcome struct {
				text string
				code int
			}
			sent := make(chan outcome, 1)
			go func() {
				text, code := c.command("agent", "send", a.ID, "--wait", "--timeout", "3m",
					fmt.Sprintf("echo begun; while [ ! -e %s ]; do sleep 0.1; done; echo once >> %s; echo the answer", gate, done))
				sent <- outcome{text, code}
			}()
			c.await(a.ID, client.ManagedBusy)
			open := func() {
				if err := os.WriteFile(gate, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c.kill()
			if meanwhile {
				open()
				eventually(t, "the end of the command", func() bool { return exists(done) })
			}
			c.start()
			c.runtimeReady()
			if !meanwhile {
				open()
			}
			if got := <-sent; got.code != 0 || got.text != "begun\nthe answer\n" {
				t.Errorf("exit code %d, %q", got.code, got.text)
			}
			if data, err := os.ReadFile(done); err != nil || string(data) != "once\n" {
				t.Errorf("it was done %q, %v", data, err)
			}
		})
	}
}
