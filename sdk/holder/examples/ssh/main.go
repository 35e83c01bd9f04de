// Command ssh is a runtime whose agents live on another host, reached by OpenSSH: an example for authors of runtimes. The
// host needs sshd, a POSIX shell and setsid, and nothing of Wardroom: the holder is copied there.
//
// It owns how rooms are made and files written over there; what holds the terminals, and how it is reached, are those of
// sdk/holder. As a plugin it is named runtime-ssh, and comes in a package with the program holder (plugins/holder) in files.
package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeplugin "github.com/wardroom/wardroom/sdk/runtime/plugin"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["host"],
  "properties": {
    "host": {"type": "string", "minLength": 1, "pattern": "^[^-]", "description": "Where agents live, as ssh takes it: a name of ssh_config, or USER@HOST."},
    "options": {"type": "array", "items": {"type": "string"}, "description": "Arguments for ssh, such as -i FILE. It never asks for anything."},
    "dir": {"type": "string", "pattern": "^/", "description": "Directory over there for rooms and the holder; default: .wardroom in the home of the user."},
    "maxAgents": {"type": "integer", "minimum": 0, "description": "Agents running at once; 0: no limit."}
  }
}`

type config struct {
	Host      string   `json:"host"`
	Options   []string `json:"options"`
	Dir       string   `json:"dir"`
	MaxAgents int      `json:"maxAgents"`
}

var version = "0.1.0"

func main() {
	plugin.Main(runtimeplugin.Definition(runtimeplugin.Options{
		Name: "runtime-ssh", Version: version, Schema: []byte(schema),
		Examples: []json.RawMessage{json.RawMessage(`{"host": "build.example.com", "maxAgents": 10}`)},
		New: func(_ context.Context, settings json.RawMessage, place runtimeplugin.Place) (agentcli.Options, error) {
			var c config
			if err := json.Unmarshal(settings, &c); err != nil {
				return agentcli.Options{}, runtime.Errorf(runtime.CodeInvalidArgument, "the settings cannot be read")
			}
			// Without a password or a question, and all over one connection, which ends a minute after the last.
			options := append([]string{
				"-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "-o", "ControlMaster=auto", "-o", "ControlPersist=60",
				"-o", "ControlPath=" + filepath.Join(place.RunDir, "%C"),
			}, c.Options...)
			return agentcli.Options{
				Launcher:  &launcher{ssh: append(options, "--", c.Host), dir: strings.TrimSuffix(c.Dir, "/"), holder: plugin.File("holder")},
				Adapters:  []agentcli.Adapter{claude.New(), codex.New(), gemini.New()},
				Types:     map[string]runtime.DeclaredType{"sh": {Command: "sh", Env: map[string]string{"PS1": "$ "}, Ready: runtime.ReadyRule{Pattern: `^\$ $`}, Exit: "exit"}},
				MaxAgents: c.MaxAgents,
			}, nil
		},
	}))
}
