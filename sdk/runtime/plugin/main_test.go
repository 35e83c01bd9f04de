package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	goplugin "github.com/hashicorp/go-plugin"
	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/agentcli/stream"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeplugin "github.com/wardroom/wardroom/sdk/runtime/plugin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// launcher runs commands in ptys.
type launcher struct {
	local.Rooms
	processes *stream.Table
	author    *author
}

func (l *launcher) Health(context.Context) plugin.Health { return l.author.health }

func (l *launcher) Close() error {
	l.author.closed.Add(1)
	return nil
}

func (l *launcher) Launch(_ context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	c := exec.Command(cmd.Path, cmd.Args...)
	c.Dir, c.Env = cmd.Room.Workdir, cmd.Env
	master, err := pty.Start(c)
	if err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "%v", err)
	}
	tty, err := stream.NewTTY(master)
	if err != nil {
		return nil, err
	}
	id := cmd.Spec.ID
	return l.processes.Add(id, stream.Options{
		Terminal: tty, Info: agentcli.ProcessInfo{PID: c.Process.Pid, StartedAt: time.Now()},
		Interrupt: func(context.Context) error { return c.Process.Signal(syscall.SIGTERM) },
		Kill:      func(ctx context.Context) error { return l.End(ctx, id) },
		Wait:      func() (runtime.Exit, error) { return stream.ExitOf(c.Wait()) },
	}), nil
}

func (l *launcher) Find(_ context.Context, handle []byte) (agentcli.Process, error) {
	return l.processes.Find(handle)
}

// author is a plugin's author of the tests.
type author struct {
	processes stream.Table
	ends      atomic.Int32
	closed    atomic.Int32 // launchers
	health    plugin.Health
	places    chan runtimeplugin.Place
}

const schema = `{"type": "object", "additionalProperties": false, "properties": {"maxAgents": {"type": "integer"}}}`

var shell = runtime.DeclaredType{Command: "sh", Env: map[string]string{"PS1": "$ "}, Ready: runtime.ReadyRule{Pattern: `^\$ $`}, Exit: "exit"}

func (a *author) options() runtimeplugin.Options {
	a.places = make(chan runtimeplugin.Place, 10)
	if a.health.Status == "" {
		a.health.Status = plugin.StatusOK
	}
	return runtimeplugin.Options{
		Name: "runtime-pen", Version: "1.2.3", Schema: []byte(schema),
		Settings: func(getenv func(string) string) (map[string]any, error) {
			text := getenv("MAX_AGENTS")
			n, err := strconv.Atoi(text)
			switch {
			case text == "":
				return nil, nil
			case err != nil:
				return nil, errors.New("MAX_AGENTS is no number")
			}
			return map[string]any{"maxAgents": n}, nil
		},
		New: func(_ context.Context, config json.RawMessage, place runtimeplugin.Place) (agentcli.Options, error) {
			var c struct{ MaxAgents int }
			if err := json.Unmarshal(config, &c); err != nil {
				return agentcli.Options{}, err
			}
			if c.MaxAgents == 13 {
				return agentcli.Options{}, runtime.Errorf(runtime.CodeInvalidArgument, "13 agents bring bad luck")
			}
			a.places <- place
			return agentcli.Options{
				Launcher:  &launcher{local.Rooms{Dir: filepath.Join(place.StateDir, "rooms")}, &a.processes, a},
				Types:     map[string]runtime.DeclaredType{"sh": shell},
				MaxAgents: c.MaxAgents, Ephemeral: true,
			}, nil
		},
		End: func(ctx context.Context) error {
			a.ends.Add(1)
			return a.processes.Close(ctx)
		},
	}
}

// connect serves the plugin within the test.
func connect(t *testing.T, o runtimeplugin.Options) (*plugin.Conn, *plugin.InProcess) {
	t.Helper()
	p := &plugin.InProcess{Name: "pen", StateDir: t.TempDir(), RunDir: t.TempDir()}
	set, err := p.Set(runtimeplugin.Definition(o))
	if err != nil {
		t.Fatal(err)
	}
	client, _ := goplugin.TestPluginGRPCConn(t, false, set)
	t.Cleanup(func() { _ = client.Close() }) // it has the server stop itself, which a Stop here would race with
	dispensed, err := client.Dispense(plugin.Name)
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := dispensed.(*plugin.Conn)
	if !ok {
		t.Fatalf("dispensed a %T", dispensed)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, p
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// errText returns the text of an error, or "" for nil.
func errText(err error) string {
	if err == nil {
		return ""
	}
	var e *plugin.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
