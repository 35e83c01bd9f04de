package drivertest_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestMain(m *testing.M) {
	code := drivertest.Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// TestLauncher runs a shell that calls its hook and prints the answer.
func TestLauncher(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	l := &drivertest.Launcher{Dir: t.TempDir()}
	spec := &runtime.Spec{ID: "one"}
	room, err := l.Prepare(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	sh, err := room.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Launch(ctx, agentcli.Command{
		Spec: spec, Room: room, Path: sh, Args: []string{"-c", "echo question | " + hook.Command(room.Hook, "Stop") + "; exit 3"},
		Env: room.Env, Cols: 80, Rows: 24,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Remove(ctx, spec.ID)
	defer p.Close()
	call := <-p.(agentcli.HookSource).Hooks()
	if call.Name != "Stop" || string(call.Payload) != "question\n" {
		t.Errorf("call %s %q", call.Name, call.Payload)
	}
	call.Answer([]byte("the answer"))
	out, err := p.Output(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	text, err := io.ReadAll(out)
	if err != nil || !strings.Contains(string(text), "the answer") {
		t.Errorf("output %q, %v", text, err)
	}
	if exit, err := p.Wait(ctx); err != nil || exit.Code != 3 {
		t.Errorf("exit %+v, %v", exit, err)
	}
	<-call.Done
}
