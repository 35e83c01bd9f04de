package pluginhost

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/core"
)

// choicesFile holds what operators said about plugins, in the state directory. It survives restarts and is
// stronger than the configuration.
const choicesFile = "choices.json"

// choices is the content of the file.
type choices struct {
	Format  int               `json:"format"` // 1
	Plugins map[string]choice `json:"plugins"`
}

// choice records that an operator enabled or disabled one plugin.
type choice struct {
	Enabled bool      `json:"enabled"`
	At      time.Time `json:"at"`
}

// readChoices reads the file. One that is damaged is an error: going on without it could start what an
// operator has switched off.
func readChoices(dir string) (*choices, error) {
	c := &choices{Format: 1, Plugins: map[string]choice{}}
	path := filepath.Join(dir, choicesFile)
	data, err := readBounded(path, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(data, c)
	}
	if err == nil && c.Format != 1 {
		err = errors.New("it is of another release")
	}
	if err != nil {
		return nil, core.Errorf(core.CodeInternal,
			"%s, which holds the plugins that were enabled or disabled by hand, cannot be read; mend or remove it", path).WithCause(err)
	}
	if c.Plugins == nil {
		c.Plugins = map[string]choice{}
	}
	return c, nil
}

func (c *choices) write(dir string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, choicesFile), append(data, '\n'), 0o600)
}

// without returns the choices but for that of one plugin, and whether there was one.
func (c *choices) without(name string) (*choices, bool) {
	if _, said := c.Plugins[name]; !said {
		return c, false
	}
	next := &choices{Format: c.Format, Plugins: maps.Clone(c.Plugins)}
	delete(next.Plugins, name)
	return next, true
}

// Forget drops what an operator said about a plugin from the state directory of a service that does not run.
func Forget(stateDir, name string) error {
	c, err := readChoices(stateDir)
	if err != nil {
		return err
	}
	next, changed := c.without(name)
	if !changed {
		return nil
	}
	return next.write(stateDir)
}
