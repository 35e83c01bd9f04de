package plugin

import (
	"encoding/json"
	"io"
	"log"
	"os"

	"github.com/hashicorp/go-hclog"
)

// maxLine is the longest line of the log, in bytes: a host reads lines up to 64 KiB, and takes a longer one
// apart without its level.
const maxLine = 60 << 10

// newLogger makes the log of a plugin's process: JSON on standard error, which the host reads. What the
// standard library's log package writes goes there too.
func newLogger(name, level string, w io.Writer) hclog.Logger {
	logger := jsonLogger(name, level, w)
	hclog.SetDefault(logger)
	log.SetFlags(0)
	log.SetPrefix("")
	log.SetOutput(logger.StandardWriter(&hclog.StandardLoggerOptions{InferLevels: true}))
	return logger
}

func jsonLogger(name, level string, w io.Writer) hclog.Logger {
	parsed := hclog.LevelFromString(level)
	if parsed == hclog.NoLevel {
		parsed = hclog.Info
	}
	return hclog.New(&hclog.LoggerOptions{Name: name, Level: parsed, Output: lineWriter{w}, JSONFormat: true})
}

// lineWriter shortens records that are too long for the host. hclog writes one record a call.
type lineWriter struct{ w io.Writer }

func (l lineWriter) Write(p []byte) (int, error) {
	if len(p) <= maxLine {
		return l.w.Write(p)
	}
	var record map[string]any
	if err := json.Unmarshal(p, &record); err != nil {
		return l.w.Write(p)
	}
	// Each text gets its share; numbers and the like stay.
	share := maxLine / 8 / max(len(record), 1) // a byte may take six in JSON
	for key, value := range record {
		s, ok := value.(string)
		if !ok || len(s) <= share {
			continue
		}
		record[key] = s[:share] + " [shortened]"
	}
	short, err := json.Marshal(record)
	if err != nil {
		return l.w.Write(p)
	}
	if _, err := l.w.Write(append(short, '\n')); err != nil {
		return 0, err
	}
	return len(p), nil
}

// startedByHost reports whether a host started this process.
func startedByHost() bool {
	return os.Getenv(Handshake.MagicCookieKey) == Handshake.MagicCookieValue
}
