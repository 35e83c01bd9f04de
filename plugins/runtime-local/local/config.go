package local

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeplugin "github.com/wardroom/wardroom/sdk/runtime/plugin"
)

//go:embed schema.json
var schema []byte

// Config is the configuration of the plugin; schema.json says what each field means.
type Config struct {
	StateDir     string                          `json:"stateDir"`
	RoomsDir     string                          `json:"roomsDir"`
	RunDir       string                          `json:"runDir"`
	Holder       string                          `json:"holder"`
	MaxAgents    int                             `json:"maxAgents"`
	Workdirs     []string                        `json:"workdirs"`
	Env          map[string]string               `json:"env"`
	Credentials  map[string]string               `json:"credentials"`
	Limits       runtime.Limits                  `json:"limits"`
	Cgroups      string                          `json:"cgroups"`
	Isolation    Isolation                       `json:"isolation"`
	Scrollback   int                             `json:"scrollback"`
	RingBytes    int                             `json:"ringBytes"`
	ResizePolicy string                          `json:"resizePolicy"`
	StuckAfter   string                          `json:"stuckAfter"`
	Types        map[string]runtime.DeclaredType `json:"types"`
}

// decode reads a configuration that satisfies the schema, and fills in the directories that the caller gives.
func decode(data []byte, stateDir, runDir string) (Config, error) {
	c := Config{}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, runtime.Errorf(runtime.CodeInvalidArgument, "the configuration cannot be read: %v", err)
	}
	c.StateDir = cmp.Or(c.StateDir, stateDir)
	c.RunDir = cmp.Or(c.RunDir, runDir)
	if c.RunDir == "" && c.StateDir != "" {
		c.RunDir = filepath.Join(c.StateDir, "run")
	}
	if c.Holder == "" {
		own, err := os.Executable()
		if err != nil {
			return c, runtime.Errorf(runtime.CodeInvalidArgument, "holder is not given, and the plugin's own path is not known: %v", err)
		}
		c.Holder = filepath.Join(filepath.Dir(own), "holder")
	}
	if c.StateDir == "" {
		return c, &runtime.Error{Code: runtime.CodeInvalidArgument, Field: "stateDir", Message: "is not given, and the host names no directory either"}
	}
	return c, nil
}

// stuckAfter is the duration, or 0 for the default.
func (c *Config) stuckAfter() time.Duration {
	d, err := time.ParseDuration(c.StuckAfter)
	if err != nil {
		return 0 // empty: problems has refused anything else
	}
	return d
}

// problems finds what the schema cannot say. A directory that is missing now is a warning: it may come.
func (c *Config) problems() []plugin.Problem {
	var list plugin.Problems
	add := list.Add
	if c.StuckAfter != "" {
		if d, err := time.ParseDuration(c.StuckAfter); err != nil || d <= 0 {
			add("/stuckAfter", plugin.SeverityError, "is no duration above zero, such as 10m")
		}
	}
	if e := runtime.AsError(c.Isolation.check()); e != nil {
		add("/"+strings.ReplaceAll(e.Field, ".", "/"), plugin.SeverityError, "%s; %s", e.Message, e.Hint)
	}
	for i, dir := range c.Isolation.Shut {
		if filepath.Clean(dir) != dir {
			add(fmt.Sprintf("/isolation/shut/%d", i), plugin.SeverityError, "is not a clean absolute path")
		}
	}
	if e := runtime.AsError(local.CheckEnv("env", c.Env)); e != nil {
		add("/env", plugin.SeverityError, "%s: %s", e.Field, e.Message)
	}
	for i, root := range c.Workdirs {
		if filepath.Clean(root) != root {
			add(fmt.Sprintf("/workdirs/%d", i), plugin.SeverityError, "is not a clean absolute path")
		} else if info, err := os.Stat(root); err != nil || !info.IsDir() {
			add(fmt.Sprintf("/workdirs/%d", i), plugin.SeverityWarning, "is no directory at the moment")
		}
	}
	runtimeplugin.CheckRooms(&list, c.Credentials, c.Holder, c.Types)
	return list
}
