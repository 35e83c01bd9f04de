// Command runtime-example is a runtime of Wardroom that runs agents in plain terminals of this machine. Everything
// but starting a command comes from the sdk; replace Launch with whatever starts one where your agents live.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/agentcli/stream"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeplugin "github.com/wardroom/wardroom/sdk/runtime/plugin"
)

// version is that of the plugin; a build may set it with -ldflags "-X main.version=1.2.3".
var version = "0.1.0"

// schema is the JSON Schema of config: operators see it, and settings that it refuses never get here.
const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "maxAgents": {"type": "integer", "minimum": 0, "description": "Agents running at once; 0: no limit."},
    "workdirs": {
      "type": "array",
      "items": {"type": "string", "pattern": "^/"},
      "description": "Directories below which agents may work. Default: any but the system's."
    }
  }
}`

// config are the settings.
type config struct {
	MaxAgents int      `json:"maxAgents"`
	Workdirs  []string `json:"workdirs"`
}

// shell is the one agent type that this runtime declares beside those of the coding CLIs, which the adapters bring;
// operators declare more in agentTypes.
var shell = runtime.DeclaredType{
	Command: "sh", Env: map[string]string{"PS1": "$ "}, Ready: runtime.ReadyRule{Pattern: `^\$ $`}, Exit: "exit",
}

func main() {
	// The agents that run are in processes, which every configuration shares: a new one finds them there.
	var processes stream.Table
	plugin.Main(runtimeplugin.Definition(runtimeplugin.Options{
		Name: "runtime-example", Version: version, Schema: []byte(schema),
		Examples: []json.RawMessage{json.RawMessage(`{"maxAgents": 10, "workdirs": ["/srv/work"]}`)},
		New: func(_ context.Context, settings json.RawMessage, place runtimeplugin.Place) (agentcli.Options, error) {
			var c config
			if err := json.Unmarshal(settings, &c); err != nil {
				return agentcli.Options{}, runtime.Errorf(runtime.CodeInvalidArgument, "the settings cannot be read")
			}
			return agentcli.Options{
				Launcher: &launcher{local.Rooms{
					Dir: filepath.Join(place.StateDir, "rooms"), Workdirs: c.Workdirs, Private: place.Private, Workspaces: place.Workspaces,
				}, &processes},
				Adapters:  []agentcli.Adapter{claude.New(), codex.New(), gemini.New()},
				Types:     map[string]runtime.DeclaredType{"sh": shell},
				MaxAgents: c.MaxAgents,
				Ephemeral: true, // a pty ends with the process that opened it
			}, nil
		},
		End: processes.Close,
	}))
}

// launcher is an agentcli.Launcher. Prepare and Remove are those of its rooms.
type launcher struct {
	local.Rooms
	processes *stream.Table
}

// Launch starts the command of an agent in a pty.
func (l *launcher) Launch(ctx context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	id := cmd.Spec.ID
	if err := l.End(ctx, id); err != nil { // what an earlier life left
		return nil, err
	}
	if err := l.Write(cmd.Room, cmd.Files); err != nil {
		return nil, err
	}
	c := exec.Command(cmd.Path, cmd.Args...)
	c.Dir, c.Env = cmd.Room.Workdir, cmd.Env
	master, err := pty.StartWithSize(c, &pty.Winsize{Cols: uint16(cmd.Cols), Rows: uint16(cmd.Rows)})
	if err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "%s does not start: %v", cmd.Path, err)
	}
	tty, err := stream.NewTTY(master)
	if err != nil {
		return nil, errors.Join(runtime.Errorf(runtime.CodeSpawnFailed, "the pty: %v", err), l.End(ctx, id), c.Wait())
	}
	return l.processes.Add(id, stream.Options{
		Terminal:  tty,
		Info:      agentcli.ProcessInfo{PID: c.Process.Pid, StartedAt: time.Now()},
		Interrupt: func(context.Context) error { return c.Process.Signal(syscall.SIGTERM) },
		Kill:      func(ctx context.Context) error { return l.End(ctx, id) },
		Wait:      func() (runtime.Exit, error) { return stream.ExitOf(c.Wait()) },
		Usage:     func(context.Context) (agentcli.Usage, error) { return l.Usage(id) },
	}), nil
}

// Find returns an agent that this process started. The ptys of an earlier process are gone; what did not end
// with them is ended here.
func (l *launcher) Find(ctx context.Context, handle []byte) (agentcli.Process, error) {
	p, err := l.processes.Find(handle)
	if errors.Is(err, agentcli.ErrGone) {
		if failed := l.End(ctx, stream.AgentOf(handle)); failed != nil {
			return nil, failed
		}
	}
	return p, err
}
