package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfigFromEnv reads what an operator sets who starts the server by hand.
func TestConfigFromEnv(t *testing.T) {
	own, err := os.Executable() // stands in for the holder's neighbour
	if err != nil {
		t.Fatal(err)
	}
	holder := filepath.Join(filepath.Dir(own), "holder")
	if err := os.WriteFile(holder, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(holder) })
	home := t.TempDir()
	t.Setenv("HOME", home)
	for name, test := range map[string]struct {
		env   map[string]string
		want  string // of the error; empty: none
		check func(Config) bool
	}{
		"Defaults": {nil, "", func(c Config) bool {
			state := filepath.Join(home, ".local", "state", "wardroom", "runtime-local")
			return c.StateDir == state && c.RunDir == filepath.Join(state, "run") && c.MaxAgents == 0 && c.Workdirs == nil
		}},
		"Directories": {map[string]string{"STATE_DIR": "/s", "RUN_DIR": "/r"}, "", func(c Config) bool { return c.StateDir == "/s" && c.RunDir == "/r" }},
		"XDG": {map[string]string{"XDG_STATE_HOME": "/x", "XDG_RUNTIME_DIR": "/y"}, "", func(c Config) bool {
			return c.StateDir == "/x/wardroom/runtime-local" && c.RunDir == "/y/wardroom-runtime-local"
		}},
		"MaxAgents":   {map[string]string{"MAX_AGENTS": "7"}, "", func(c Config) bool { return c.MaxAgents == 7 }},
		"Workdirs":    {map[string]string{"WORKDIRS": "/srv:/tmp"}, "", func(c Config) bool { return strings.Join(c.Workdirs, " ") == "/srv /tmp" }},
		"NoNumber":    {map[string]string{"MAX_AGENTS": "many"}, `MAX_AGENTS is "many"`, nil},
		"Negative":    {map[string]string{"MAX_AGENTS": "-1"}, `MAX_AGENTS is "-1"`, nil},
		"NotAbsolute": {map[string]string{"WORKDIRS": "/srv:work"}, `WORKDIRS has "work"`, nil},
		"NotClean":    {map[string]string{"WORKDIRS": "/srv/../etc"}, "/workdirs/0", nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := configFromEnv(func(name string) string { return test.env[name] })
			switch {
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want one about %s", err, test.want)
			case test.want == "" && err != nil:
				t.Error(err)
			case test.check != nil && !test.check(c):
				t.Errorf("config %+v", c)
			}
		})
	}
}
