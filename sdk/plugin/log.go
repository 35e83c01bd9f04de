package plugin

import (
	"cmp"
	"encoding/json"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// maxLine is the longest line of the log, in bytes: a host reads lines up to 64 KiB, and takes a longer one
// apart without its level.
const maxLine = 60 << 10

// maxFields is how many fields of a record that is too long are left of it.
const maxFields = 64

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
	parsed := cmp.Or(hclog.LevelFromString(level), hclog.Info)
	return hclog.New(&hclog.LoggerOptions{Name: name, Level: parsed, Output: lineWriter{w}, JSONFormat: true})
}

// lineWriter shortens records that are too long for the host. hclog writes one record a call.
type lineWriter struct{ w io.Writer }

func (l lineWriter) Write(p []byte) (int, error) {
	if len(p) <= maxLine {
		return l.w.Write(p)
	}
	var record map[string]json.RawMessage
	if err := json.Unmarshal(p, &record); err != nil {
		return l.w.Write(p)
	}
	names := slices.SortedFunc(maps.Keys(record), func(a, b string) int { // hclog's own, such as the level, before the author's
		if own := strings.HasPrefix(a, "@"); own != strings.HasPrefix(b, "@") {
			if own {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, name := range names[min(len(names), maxFields):] {
		delete(record, name)
	}
	// Each value gets its share; what is no text is cut as the text of its JSON.
	share := maxLine / 8 / max(len(record), 1) // a byte may take six in JSON
	for name, value := range record {
		if len(name) > share {
			delete(record, name)
			continue
		}
		if len(value) <= share {
			continue
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		if len(text) > share {
			text = text[:share] + " [shortened]"
		}
		short, err := json.Marshal(text)
		if err != nil {
			return l.w.Write(p)
		}
		record[name] = short
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
