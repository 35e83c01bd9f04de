package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// Policies of fsync.
const (
	syncAlways   = "always"   // a record is acknowledged once it is on disk
	syncInterval = "interval" // the same, for all records of an interval at once
	syncNever    = "never"    // the system decides when; a crash of the machine may lose records
)

const schema = `{
	"type": "object",
	"additionalProperties": false,
	"properties": {
		"path": {"type": "string", "description": "File of JSON lines. Left out: audit.log in the state directory of the plugin."},
		"rotation": {
			"type": "object",
			"additionalProperties": false,
			"properties": {
				"maxSize": {"type": ["string", "integer"], "default": "100MiB", "description": "Size from which on a new file is begun, such as 50MiB."},
				"maxAge": {"type": "string", "default": "24h", "description": "Age from which on a new file is begun; 0s: any."},
				"compress": {"type": "boolean", "default": false, "description": "Compress former files (gzip)."},
				"maxFiles": {"type": "integer", "minimum": 0, "default": 0, "description": "Former files that are kept; beyond that the oldest are removed. 0: all are kept."}
			}
		},
		"fsync": {"enum": ["always", "interval", "never"], "default": "always", "description": "When records are forced to disk: with each batch, each interval, or when the system does it."},
		"interval": {"type": "string", "default": "1s", "description": "Of fsync: interval."}
	}
}`

// Definition is the plugin.
func Definition(version string) plugin.Definition {
	return plugin.Definition{
		Name: "audit-file", Version: version, Kind: plugin.KindAudit, Schema: []byte(schema), Features: []string{plugin.FeatureHangup},
		Examples: []json.RawMessage{
			json.RawMessage(`{}`),
			json.RawMessage(`{"path": "/var/log/wardroom/audit.log", "rotation": {"maxSize": "50MiB", "maxAge": "24h", "compress": true}}`),
		},
		Validate: func(_ context.Context, raw json.RawMessage) []plugin.Problem {
			if _, err := parse(raw, "/"); err != nil {
				return []plugin.Problem{{Severity: plugin.SeverityError, Text: err.Error()}}
			}
			return nil
		},
		Configure: configure,
	}
}

func configure(_ context.Context, raw json.RawMessage, host plugin.Host) (plugin.Service, error) {
	o, err := parse(raw, host.StateDir())
	if err != nil {
		return plugin.Service{}, &plugin.Error{Code: plugin.CodeInvalidArgument, Message: err.Error()}
	}
	o.Logger = host.Logger()
	s := New(o)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range hangups {
			s.Reopen()
		}
	}()
	return plugin.Service{
		Audit: s,
		Close: func(context.Context) error {
			signal.Stop(hangups)
			close(hangups)
			<-done
			return s.Close()
		},
	}, nil
}

// parse reads the settings.
func parse(raw json.RawMessage, stateDir string) (Options, error) {
	var c struct {
		Path     string `json:"path"`
		Rotation struct {
			MaxSize  json.RawMessage `json:"maxSize"`
			MaxAge   string          `json:"maxAge"`
			Compress bool            `json:"compress"`
			MaxFiles int             `json:"maxFiles"`
		} `json:"rotation"`
		Fsync    string `json:"fsync"`
		Interval string `json:"interval"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return Options{}, errors.New("the settings are not of the form that the schema shows")
	}
	o := Options{Path: c.Path, MaxSize: 100 << 20, MaxAge: 24 * time.Hour, Compress: c.Rotation.Compress, MaxFiles: c.Rotation.MaxFiles, Sync: syncAlways, Interval: time.Second}
	var err error
	if text := strings.Trim(string(c.Rotation.MaxSize), `"`); text != "" {
		if o.MaxSize, err = parseSize(text); err != nil {
			return o, fmt.Errorf("rotation.maxSize: %w", err)
		}
	}
	if c.Rotation.MaxAge != "" {
		if o.MaxAge, err = time.ParseDuration(c.Rotation.MaxAge); err != nil || o.MaxAge < 0 {
			return o, errors.New("rotation.maxAge: is not a duration such as 24h")
		}
	}
	if c.Fsync != "" {
		o.Sync = c.Fsync
	}
	if c.Interval != "" {
		if o.Interval, err = time.ParseDuration(c.Interval); err != nil || o.Interval <= 0 || o.Interval > time.Minute {
			return o, errors.New("interval: is not a duration of up to a minute, such as 1s")
		}
	}
	switch {
	case o.Path == "" && stateDir == "":
		return o, errors.New("path: is missing, and the host gave no directory")
	case o.Path == "":
		o.Path = filepath.Join(stateDir, "audit.log")
	case !filepath.IsAbs(o.Path):
		return o, errors.New("path: must be absolute")
	}
	return o, nil
}

// parseSize reads a size such as 50MiB.
func parseSize(text string) (int64, error) {
	unit := int64(1)
	for suffix, n := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1e3, "MB": 1e6, "GB": 1e9} {
		if digits, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = strings.TrimSpace(digits), n
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > (1<<50)/unit {
		return 0, errors.New("is not a size such as 50MiB")
	}
	if n*unit < 64<<10 {
		return 0, errors.New("must be at least 64KiB")
	}
	return n * unit, nil
}

var _ audit.Sink = (*Sink)(nil)
