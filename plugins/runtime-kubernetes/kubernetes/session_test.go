package kubernetes_test

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// keeper is an agent type whose session is a file with the messages that it had.
type keeper struct{}

const keeperScript = `printf '\033]7777;idle\a'; while read -r line; do
	case $line in list) all=$(cat ~/session | tr '\n' ' ');; *) echo "$line" >>~/session; all=$line;; esac
	printf '\033]7777;said %s\a' "$all"; done`

func (keeper) Type() string { return "keeper" }

func (keeper) Plan(*runtime.Spec, agentcli.Room, agentcli.Life) (agentcli.Plan, error) {
	return agentcli.Plan{Path: "/bin/sh", Args: []string{"-c", keeperScript}, SessionID: "kept"}, nil
}

func (keeper) NewDriver(_ agentcli.Plan, _ agentcli.Room, h agentcli.Host) agentcli.Driver {
	return keeperDriver{h}
}

func (keeper) TakeSession(_ string, _ []byte, from, to agentcli.Room) ([]agentcli.File, error) {
	data, err := from.ReadFile(path.Join(from.Home, "session"))
	return []agentcli.File{{Path: path.Join(to.Home, "session"), Data: data, Mode: 0o600, Keep: true}}, err
}

type keeperDriver struct{ h agentcli.Host }

func (d keeperDriver) OSC(code int, data []byte) {
	said, over := strings.CutPrefix(string(data), "said ")
	switch {
	case code != 7777:
	case over:
		d.h.Signal(agentcli.Signal{Kind: agentcli.SignalTook, Source: runtime.SourceOSC})
		d.h.Signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, Source: runtime.SourceOSC, Text: strings.TrimSpace(said)})
	default:
		d.h.Signal(agentcli.Signal{Kind: agentcli.SignalIdle, Source: runtime.SourceOSC})
	}
}

func (keeperDriver) Hook(call *agentcli.HookCall)   { call.Answer([]byte("{}")) }
func (keeperDriver) Screen([]string, int, int) bool { return false }
func (keeperDriver) Submit(text string) []agentcli.Step {
	return []agentcli.Step{{Write: []byte(text + "\r")}}
}
func (keeperDriver) Confirm() []agentcli.Step { return nil }
func (keeperDriver) Exit() []agentcli.Step    { return []agentcli.Step{{Write: []byte{4}}} }
func (keeperDriver) Save() []byte             { return nil }
func (keeperDriver) Load([]byte)              {}

func (keeperDriver) Answer(*runtime.Prompt, runtime.Answer) ([]agentcli.Step, error) {
	return nil, runtime.Errorf(runtime.CodeNoPrompt, "it asks nothing")
}

// TestSessionOutlivesPod deletes the pod of an agent that runs, as an eviction does: its next pod has the session as it was after the
// turn that was copied last.
func TestSessionOutlivesPod(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	dir := t.TempDir()
	rt, err := agentcli.NewRuntime(agentcli.Options{
		Name: "kubernetes", Launcher: c.open(t, t.TempDir(), nil), StateDir: dir, Adapters: []agentcli.Adapter{keeper{}}, CopyEvery: time.Millisecond,
	})
	if err == nil {
		err = rt.Open(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close(context.WithoutCancel(ctx)) })
	a := spawn(ctx, t, rt, runtime.Spec{ID: id(t), Type: "keeper"})
	status(ctx, t, rt, a.ID, runtime.StatusReady)
	say(ctx, t, rt, a.ID, "first")
	until(ctx, t, "the copy of the session", func() bool {
		_, err := os.Stat(filepath.Join(dir, "agents", a.ID, "session.json"))
		return err == nil
	})
	if err := c.core.Pods(c.namespace).Delete(ctx, a.PodName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	status(ctx, t, rt, a.ID, runtime.StatusStopped)
	if _, err := rt.Restart(ctx, a.ID, runtime.RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	status(ctx, t, rt, a.ID, runtime.StatusReady)
	if got := say(ctx, t, rt, a.ID, "list"); got != "first" {
		t.Errorf("the session has %q", got)
	}
}
