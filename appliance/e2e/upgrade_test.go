package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/sdk/client"
)

// An upgrade takes the installed files away for a moment while agents work. Nothing is lost or invented by it: each
// message gets its own answer.
func TestUpgradeUnderRealCLI(t *testing.T) {
	t.Parallel()
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			needs(t, tool.name)
			own := filepath.Join(shortDir(t), "plugins")
			if err := os.CopyFS(own, os.DirFS(plugins)); err != nil {
				t.Fatal(err)
			}
			c := crewed(t, nil, []string{toolPath(t), "plugins.dir: " + own, "runtimes.local: {plugin: runtime-local}"})
			model := startModel(t)
			a := c.await(c.spawn(client.ManagedAgentSpec{Type: tool.name, Env: fakemodel.Env(tool.name, model.URL())}).ID, client.ManagedReady)
			c.told(a.ID, "before", "ANSWER[before]")
			holder := filepath.Join(own, "holder")
			if err := os.Rename(holder, holder+".away"); err != nil {
				t.Fatal(err)
			}
			for _, message := range []string{"meanwhile", "and again"} {
				c.told(a.ID, message, "ANSWER["+message+"]")
			}
			if err := os.Rename(holder+".away", holder); err != nil {
				t.Fatal(err)
			}
			c.told(a.ID, "after", "ANSWER[after]")
			c.awaitAgent(a.ID, "4 turns", func(a *client.ManagedAgent) bool { return a.Turn == 4 })
			c.retire(a.ID)
		})
	}
}

// A copy of an installation that is started beside the live server has the records of its agents, and leaves the agents
// alone: to the copy they are lost.
func TestRestoredCopyBesideTheLiveServer(t *testing.T) {
	t.Parallel()
	c := managed(t)
	a := c.shell()
	c.told(a.ID, "echo before", "before")
	c.stop()
	dump, second := filepath.Join(c.dir, "w.dump"), shortDir(t)
	store := filepath.Join(second, "store")
	offline(t, "store", "dump", dump, "--data-dir", filepath.Join(c.dir, "store"))
	c.start()
	c.runtimeReady()
	offline(t, "store", "restore", dump, "--data-dir", store)
	twin := &crew{}
	twin.server = configured(t, second, store, strings.Join([]string{
		"plugins.dir: " + plugins, "runtimes.local: {plugin: runtime-local}", shellType}, "\n"))
	twin.start()
	twin.runtimeReady()

	if lost := twin.await(a.ID, client.ManagedError); lost.StatusReason != "lost" {
		t.Errorf("to the copy the agent is %s (%s), want error (lost)", lost.Status, lost.StatusReason)
	}
	c.told(a.ID, "echo after", "after")
	now := c.awaitAgent(a.ID, "2 turns", func(a *client.ManagedAgent) bool { return a.Turn == 2 })
	if now.PID != a.PID {
		t.Errorf("the agent is now %+v, was %+v", now, a)
	}
	c.retire(a.ID)
}

// A command that waits for an answer over the admin socket goes on with the server that is started next, whose socket has a
// token of its own.
func TestWaitOverTheAdminSocketSurvivesARestart(t *testing.T) {
	t.Parallel()
	c := managed(t)
	a := c.shell()
	w := c.waiting("agent", "send", a.ID)
	c.awaitAgent(a.ID, "a turn", func(a *client.ManagedAgent) bool { return a.Status == client.ManagedBusy })
	c.restart()
	c.runtimeReady()
	if err := w.finish(); err != nil || strings.Count(w.said.String()+w.told.String(), "opened") != 1 {
		t.Errorf("the wait ended with %v:\n%s\n%s", err, &w.said, &w.told)
	}
	c.retire(a.ID)
}

// waitingCommand is a command that waits over the admin socket for the turn of a shell, which ends once its gate is open.
type waitingCommand struct {
	t          *testing.T
	gate       string       // file
	said, told bytes.Buffer // its output and its messages, once finish has returned
	ended      chan error
}

// waiting starts a command whose next argument is a message.
func (c *crew) waiting(args ...string) *waitingCommand {
	c.t.Helper()
	w := &waitingCommand{t: c.t, gate: filepath.Join(c.dir, "gate"), ended: make(chan error, 1)}
	args = append(args, "until [ -e "+w.gate+" ]; do sleep 0.1; done; echo opened", "--wait", "--timeout", "2m",
		"--server", "unix:"+filepath.Join(c.dir, "store", "admin.sock"))
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = &w.said, &w.told
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() { w.ended <- cmd.Wait() }()
	c.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return w
}

// finish opens the gate, and returns how the command ended.
func (w *waitingCommand) finish() error {
	w.t.Helper()
	if err := os.WriteFile(w.gate, nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
	select {
	case err := <-w.ended:
		return err
	case <-time.After(patience):
		w.t.Fatal("the wait does not end")
		return nil
	}
}

// offline runs a command that works on the files of a server.
func offline(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
