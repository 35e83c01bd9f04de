package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/plugin"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
)

// closeTimeout bounds the end of a program that was started by hand.
const closeTimeout = 10 * time.Second

// serve is the program started by hand: a runtime server. Beside what runtimeserver.FromEnv reads, the
// environment says: CONFIG_FILE (JSON, checked as an appliance would), what Options.Settings reads, STATE_DIR, RUN_DIR,
// STATE_KEY_FILE and LOG_LEVEL.
func (s *services) serve(ctx context.Context, def *plugin.Definition, getenv func(string) string) error {
	log := hclog.New(&hclog.LoggerOptions{Name: s.o.Name, Level: hclog.LevelFromString(getenv("LOG_LEVEL")), Output: os.Stderr})
	options, err := runtimeserver.FromEnv(getenv, s.o.port())
	if err != nil {
		return err
	}
	config, err := s.configOf(ctx, def, getenv)
	if err != nil {
		return err
	}
	place := Place{Logger: log}
	if place.StateDir, err = s.stateDir(getenv); err != nil {
		return err
	}
	if place.RunDir, err = s.runDir(getenv, place.StateDir); err != nil {
		return err
	}
	if place.KeyFile, err = s.keyFile(getenv); err != nil {
		return err
	}
	now, err := s.replace(ctx, config, place)
	if err != nil {
		return err
	}
	// The way out is not bound to ctx, which has ended by then.
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if err := now.close(closing); err != nil {
			log.Warn("the runtime did not close cleanly", "error", err)
		}
	}()
	options.Runtime, options.Logger = now.runtime, log
	server, err := runtimeserver.New(options)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

// configOf reads and checks the settings: of CONFIG_FILE, and before them those that stand in variables of their own.
// Errors name settings, never values.
func (s *services) configOf(ctx context.Context, def *plugin.Definition, getenv func(string) string) (json.RawMessage, error) {
	config := json.RawMessage("{}")
	if path := getenv("CONFIG_FILE"); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("CONFIG_FILE: %w", err)
		}
		config = data
	}
	if s.o.Settings != nil {
		settings, err := s.o.Settings(getenv)
		if err != nil {
			return nil, err
		}
		if config, err = over(config, settings); err != nil {
			return nil, err
		}
	}
	problems, err := def.Check(ctx, config)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for _, p := range problems {
		if p.Severity == plugin.SeverityError {
			wrong = append(wrong, strings.TrimPrefix(p.Path+": "+p.Text, ": "))
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("the settings are not valid:\n  %s", strings.Join(wrong, "\n  "))
	}
	return config, nil
}

// over puts settings over those of a configuration. One that is no JSON object stays as it is, for its check to refuse.
func over(config json.RawMessage, settings map[string]any) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if len(settings) == 0 || json.Unmarshal(config, &all) != nil || all == nil {
		return config, nil
	}
	for name, value := range settings {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("setting %s: %w", name, err)
		}
		all[name] = raw
	}
	return json.Marshal(all)
}

// stateDir is STATE_DIR, or a directory of the user's own.
func (s *services) stateDir(getenv func(string) string) (string, error) {
	dir := getenv("STATE_DIR")
	if dir == "" {
		base := getenv("XDG_STATE_HOME")
		if base == "" {
			home := getenv("HOME")
			if home == "" {
				return "", fmt.Errorf("STATE_DIR is not set, and there is no home directory")
			}
			base = filepath.Join(home, ".local", "state")
		}
		dir = filepath.Join(base, "wardroom", s.o.Name)
	}
	return makeDir("STATE_DIR", dir)
}

// runDir is RUN_DIR, or a directory of the user's session, or one in the state directory.
func (s *services) runDir(getenv func(string) string, state string) (string, error) {
	dir := getenv("RUN_DIR")
	if session := getenv("XDG_RUNTIME_DIR"); dir == "" && session != "" {
		dir = filepath.Join(session, "wardroom-"+s.o.Name)
	}
	dir = cmp.Or(dir, filepath.Join(state, "run"))
	return makeDir("RUN_DIR", dir)
}

// keyFile is STATE_KEY_FILE, or a file among the user's configuration, apart from the state. Without a home directory it is empty:
// the key lies in the state directory then.
func (s *services) keyFile(getenv func(string) string) (string, error) {
	path := getenv("STATE_KEY_FILE")
	if path == "" {
		base := getenv("XDG_CONFIG_HOME")
		if home := getenv("HOME"); base == "" && home != "" {
			base = filepath.Join(home, ".config")
		}
		if base == "" {
			return "", nil
		}
		path = filepath.Join(base, "wardroom", s.o.Name+".key")
	}
	if _, err := makeDir("STATE_KEY_FILE", filepath.Dir(path)); err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// makeDir makes a directory that a variable names, unless it is there, and returns its whole path.
func makeDir(variable, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", variable, err)
	}
	return dir, nil
}
