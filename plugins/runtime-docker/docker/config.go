package docker

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeplugin "github.com/wardroom/wardroom/sdk/runtime/plugin"
)

//go:embed schema.json
var schema []byte

// Defaults of a Config.
const (
	defaultSocket  = "/var/run/docker.sock"
	defaultNetwork = "wardroom-agents"
	defaultMemory  = 512 << 20
	defaultCPU     = 0.5
	defaultPIDs    = 512
	defaultTemp    = 256 << 20
	defaultGrace   = 10 * time.Minute
	defaultUser    = 10001 // where the service is root; no user of a distribution
)

// leastMemory is the least that a holder and a command can start in, in bytes.
const leastMemory = 16 << 20

// Pull policies.
const (
	pullNever   = "never"
	pullMissing = "if-missing"
	pullAlways  = "always"
)

// Config is the configuration of the plugin; schema.json says what each field means.
type Config struct {
	Socket    string `json:"socket"`
	StateDir  string `json:"stateDir"`
	RoomsDir  string `json:"roomsDir"`
	Holder    string `json:"holder"`
	MaxAgents int    `json:"maxAgents"`

	runtime.ImageChoice
	Pull       string              `json:"pull"`
	Registries map[string]Registry `json:"registries"` // by host, with its port
	Archives   []string            `json:"archives"`

	Network  string   `json:"network"`
	Internal bool     `json:"internal"`
	Networks []string `json:"networks"`

	Volumes     map[string]string `json:"volumes"` // by path: ro or rw
	Workdirs    []string          `json:"workdirs"`
	Env         map[string]string `json:"env"`
	Credentials map[string]string `json:"credentials"`

	User      string `json:"user"` // UID or UID:GID
	Limits    Limits `json:"limits"`
	TempBytes int64  `json:"tempBytes"`

	OrphanGrace  string                          `json:"orphanGrace"`
	Scrollback   int                             `json:"scrollback"`
	RingBytes    int                             `json:"ringBytes"`
	ResizePolicy string                          `json:"resizePolicy"`
	StuckAfter   string                          `json:"stuckAfter"`
	Types        map[string]runtime.DeclaredType `json:"types"`
}

// Registry is who the engine pulls as from one registry.
type Registry struct {
	Username     string `json:"username"`
	PasswordFile string `json:"passwordFile"` // read at each pull
}

// Limits are those of agents that ask for none. Zero is the default, which is a limit too.
type Limits struct {
	Memory string  `json:"memory"` // such as 512m
	CPU    float64 `json:"cpu"`    // cores
	PIDs   int     `json:"pids"`

	memoryBytes int64 // Memory, read
}

// decode reads a configuration that satisfies the schema, and fills in defaults and what the caller gives.
func decode(data []byte, stateDir string) (Config, error) {
	c := Config{}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, runtime.Errorf(runtime.CodeInvalidArgument, "the configuration cannot be read: %v", err)
	}
	for _, text := range []struct {
		field    *string
		fallback string
	}{
		{&c.Socket, defaultSocket}, {&c.StateDir, stateDir}, {&c.Pull, pullNever}, {&c.Network, defaultNetwork},
	} {
		if *text.field == "" {
			*text.field = text.fallback
		}
	}
	if c.StateDir == "" {
		return c, &runtime.Error{Code: runtime.CodeInvalidArgument, Field: "stateDir", Message: "is not given, and the host names no directory either"}
	}
	c.RoomsDir = cmp.Or(c.RoomsDir, filepath.Join(c.StateDir, "agents"))
	if c.Holder == "" {
		own, err := os.Executable()
		if err != nil {
			return c, runtime.Errorf(runtime.CodeInvalidArgument, "holder is not given, and the plugin's own path is not known: %v", err)
		}
		c.Holder = filepath.Join(filepath.Dir(own), "holder")
	}
	c.SetDefaults()
	c.Limits.CPU = cmp.Or(c.Limits.CPU, defaultCPU)
	c.Limits.PIDs = cmp.Or(c.Limits.PIDs, defaultPIDs)
	c.TempBytes = cmp.Or(c.TempBytes, defaultTemp)
	c.Limits.memoryBytes = defaultMemory
	if c.Limits.Memory != "" {
		n, err := runtime.ParseMemory(c.Limits.Memory)
		if err != nil {
			return c, &runtime.Error{Code: runtime.CodeInvalidArgument, Field: "limits.memory", Message: err.Error()}
		}
		c.Limits.memoryBytes = n
	}
	return c, nil
}

// duration reads a duration that problems has checked; fallback for none.
func duration(text string, fallback time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fallback
	}
	return d
}

// networkName matches names of networks that the engine accepts.
var networkName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,127}$`)

// foreignNetworks are names that the engine gives a meaning of their own: agents in them would not be apart from the machine.
var foreignNetworks = []string{"host", "none", "bridge", "default"}

// checkNetwork refuses a name that cannot be that of a network for agents.
func checkNetwork(name string) error {
	if !networkName.MatchString(name) || slices.Contains(foreignNetworks, name) {
		return fmt.Errorf("%q is not the name of a network for agents: 2 to 128 letters, digits, _ . and -, and none of %s",
			name, strings.Join(foreignNetworks, ", "))
	}
	return nil
}

// problems finds what the schema cannot say. What may be mended without a change here is a warning.
func (c *Config) problems() []plugin.Problem {
	var list plugin.Problems
	add := list.Add
	for path, text := range map[string]string{"/stuckAfter": c.StuckAfter, "/orphanGrace": c.OrphanGrace} {
		if d, err := time.ParseDuration(text); text != "" && (err != nil || d <= 0) {
			add(path, plugin.SeverityError, "is no duration above zero, such as 10m")
		}
	}
	if c.Limits.memoryBytes < leastMemory {
		add("/limits/memory", plugin.SeverityError, "is less than the %d MiB that an agent needs to start", leastMemory>>20)
	}
	for path, name := range c.networkNames() {
		if err := checkNetwork(name); err != nil {
			add(path, plugin.SeverityError, "%v", err)
		}
	}
	for path, err := range c.ImageChoice.Problems(checkImage) {
		add(path, plugin.SeverityError, "%v", err)
	}
	if _, err := parseUser(c.User); err != nil {
		add("/user", plugin.SeverityError, "%v", err)
	}
	if e := runtime.AsError(local.CheckEnv("env", c.Env)); e != nil {
		add("/env", plugin.SeverityError, "%s: %s", e.Field, e.Message)
	}
	for i, root := range c.Workdirs {
		c.checkDir(fmt.Sprintf("/workdirs/%d", i), root, add)
	}
	for _, root := range slices.Sorted(maps.Keys(c.Volumes)) {
		path := "/volumes/" + strings.ReplaceAll(root, "/", "~1")
		if root == "/" {
			add(path, plugin.SeverityError, "the whole machine cannot be given to agents; name directories")
			continue
		}
		c.checkDir(path, root, add)
	}
	for _, host := range slices.Sorted(maps.Keys(c.Registries)) {
		path := "/registries/" + strings.ReplaceAll(host, "/", "~1")
		if ref, err := reference.ParseNormalizedNamed(host + "/image"); err != nil || reference.Domain(ref) != host {
			add(path, plugin.SeverityError, "%q is not the host of a registry, such as registry.example.com:5000", host)
		}
		if _, err := os.ReadFile(c.Registries[host].PasswordFile); err != nil {
			add(path+"/passwordFile", plugin.SeverityWarning, "cannot be read at the moment")
		}
	}
	for i, file := range c.Archives {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			add(fmt.Sprintf("/archives/%d", i), plugin.SeverityWarning, "is no file at the moment")
		}
	}
	runtimeplugin.CheckRooms(&list, c.Credentials, c.Holder, c.Types)
	return list
}

func (c *Config) checkDir(path, dir string, add func(path, severity, format string, args ...any)) {
	if filepath.Clean(dir) != dir {
		add(path, plugin.SeverityError, "is not a clean absolute path")
	} else if _, err := os.Stat(dir); err != nil {
		add(path, plugin.SeverityWarning, "is not there at the moment")
	}
}

// networkNames are the networks of the configuration, by their path in it.
func (c *Config) networkNames() map[string]string {
	names := map[string]string{"/network": c.Network}
	for i, name := range c.Networks {
		names[fmt.Sprintf("/networks/%d", i)] = name
	}
	return names
}
