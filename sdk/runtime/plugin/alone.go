package plugin

import (
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
// environment says: CONFIG_FILE (JSON, checked as an appliance would), STATE_DIR, RUN_DIR and LOG_LEVEL.
func (s *services) serve(ctx context.Context, def *plugin.Definition, getenv func(string) string) error {
	log := hclog.New(&hclog.LoggerOptions{Name: s.o.Name, Level: hclog.LevelFromString(getenv("LOG_LEVEL")), Output: os.Stderr})
	options, err := runtimeserver.FromEnv(getenv, s.o.port())
	if err != nil {
		return err
	}
	config, err := configOf(ctx, def, getenv("CONFIG_FILE"))
	if err != nil {
		return err
	}
	state, err := s.stateDir(getenv)
	if err != nil {
		return err
	}
	now, err := s.replace(ctx, config, Place{StateDir: state, RunDir: getenv("RUN_DIR"), Logger: log})
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

// configOf reads and checks a file of settings; none is an empty object. Errors name settings, never values.
func configOf(ctx context.Context, def *plugin.Definition, path string) (json.RawMessage, error) {
	config := json.RawMessage("{}")
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("CONFIG_FILE: %w", err)
		}
		config = data
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
		return nil, fmt.Errorf("the settings in CONFIG_FILE are not valid:\n  %s", strings.Join(wrong, "\n  "))
	}
	return config, nil
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
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("STATE_DIR: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("STATE_DIR: %w", err)
	}
	return dir, nil
}
