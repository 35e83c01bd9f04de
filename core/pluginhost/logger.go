package pluginhost

import (
	"fmt"
	"io"
	"log"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

// longestLine is how much of a plugin's log comes as one line, in bytes: go-plugin reads no longer ones.
const longestLine = 64 << 10

// pluginLogger is what go-plugin logs to. What the plugin itself says comes through a logger that go-plugin
// names after the binary: that goes to the process log and to the ring. What go-plugin says about its own
// work is for debugging only: the supervisor tells what matters.
type pluginLogger struct {
	hclog.Logger // the process log, named after the plugin
	clock        core.Clock
	ring         *ring
	redact       func(string) string
	binary       string // name under which go-plugin passes on what the plugin says
	plugin       bool   // lines are the plugin's
	prefix       string // before each of them
	with         []any
	words        *lastWords // may be nil
	repeats      *repeats   // nil: every line is passed on, as far as flood lets it
	flood        *flood     // nil: however many there are
}

// lastWords is the last line that a process printed or logged as a warning, which tells why it ended where nothing else does.
type lastWords struct {
	quiet atomic.Bool // it is up: what it prints is no longer a warning by itself
	line  atomic.Pointer[string]
}

// text returns the line as the end of a reason.
func (w *lastWords) text() string {
	line := w.line.Load()
	if line == nil {
		return ""
	}
	return fmt.Sprintf("; the last that it said is %q", shortenTo(*line, 200))
}

// overheard returns a logger that notes the plugin's last line, and takes what it prints before it is up for warnings.
func (l *pluginLogger) overheard(words *lastWords) *pluginLogger {
	next := *l
	next.words = words
	return &next
}

var _ hclog.Logger = (*pluginLogger)(nil)

// Named implements hclog.Logger. The name of the binary adds nothing, and tells whose lines come.
func (l *pluginLogger) Named(name string) hclog.Logger {
	if name != l.binary {
		return l
	}
	return l.own("")
}

// own returns the logger of the plugin's lines.
func (l *pluginLogger) own(prefix string) *pluginLogger {
	next := *l
	next.plugin, next.prefix = true, l.prefix+prefix
	return &next
}

// ResetNamed implements hclog.Logger.
func (l *pluginLogger) ResetNamed(name string) hclog.Logger { return l.Named(name) }

// With implements hclog.Logger.
func (l *pluginLogger) With(args ...any) hclog.Logger {
	next := *l
	next.with = append(append([]any{}, l.with...), args...)
	return &next
}

// GetLevel implements hclog.Logger: lines below it are not even parsed. A plugin is never without a level.
func (l *pluginLogger) GetLevel() hclog.Level {
	if level := l.Logger.GetLevel(); level != hclog.NoLevel {
		return level
	}
	return hclog.Info
}

// Log implements hclog.Logger.
func (l *pluginLogger) Log(level hclog.Level, msg string, args ...any) { l.write(level, msg, args) }

// write is Log; it reports whether the line is in the log of the service, as far as that takes lines of its level.
func (l *pluginLogger) write(level hclog.Level, msg string, args []any) bool {
	if !l.plugin {
		l.Logger.Debug(oneLine(l.redact(msg)), l.clean(args)...)
		return true
	}
	printed := len(args) == 0 // not logged: a record has its time
	if w := l.words; w != nil && (printed || level >= hclog.Warn) && strings.TrimSpace(msg) != "" {
		said := l.redact(strings.TrimSpace(msg))
		w.line.Store(&said)
		if printed && level < hclog.Warn && !w.quiet.Load() {
			level = hclog.Warn
		}
	}
	args = append(append([]any{}, l.with...), inOrder(args)...)
	msg, args = oneLine(l.prefix+l.redact(msg)), l.clean(args)
	if level >= hclog.Warn && !printed && l.repeats != nil {
		again, held := l.repeats.pass(level, msg+pairs(args), l.clock.Now())
		if !again {
			return true
		}
		if held > 0 {
			args = append(args, "repeated", held)
		}
	}
	line := msg + pairs(args)
	l.ring.add(core.PluginLogLine{Timestamp: l.clock.Now(), Level: levelWord(level), Message: line})
	if l.flood != nil && level >= l.Logger.GetLevel() {
		ok, first, before := l.flood.pass(l.clock.Now(), len(line))
		if before > 0 {
			l.Logger.Warn("plugin wrote more than is logged here", "lines", before)
		}
		if first {
			l.Logger.Warn("plugin writes without end: most of it is not logged here", "hint", "wardroom plugin logs shows the latest of it")
		}
		if !ok {
			return false
		}
	}
	l.Logger.Log(level, msg, args...)
	return true
}

// Trace implements hclog.Logger.
func (l *pluginLogger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }

// Debug implements hclog.Logger.
func (l *pluginLogger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }

// Info implements hclog.Logger.
func (l *pluginLogger) Info(msg string, args ...any) { l.Log(hclog.Info, msg, args...) }

// Warn implements hclog.Logger.
func (l *pluginLogger) Warn(msg string, args ...any) { l.Log(hclog.Warn, msg, args...) }

// Error implements hclog.Logger.
func (l *pluginLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

// StandardLogger implements hclog.Logger.
func (l *pluginLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(l.StandardWriter(nil), "", 0)
}

// StandardWriter implements hclog.Logger.
func (l *pluginLogger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return lineWriter{l} }

// lineWriter logs what is written to it.
type lineWriter struct{ to *pluginLogger }

func (w lineWriter) Write(b []byte) (int, error) {
	w.to.Log(hclog.Info, strings.TrimRight(string(b), "\n"))
	return len(b), nil
}

// inOrder sorts keys and values by key: go-plugin passes them on in any order.
func inOrder(args []any) []any {
	type pair struct {
		key   string
		value [2]any
	}
	list := make([]pair, 0, len(args)/2)
	for i := 0; i+1 < len(args); i += 2 {
		list = append(list, pair{fmt.Sprint(args[i]), [2]any{args[i], args[i+1]}})
	}
	slices.SortStableFunc(list, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	out := make([]any, 0, 2*len(list))
	for _, p := range list {
		out = append(out, p.value[:]...)
	}
	return out
}

// clean drops the plugin's own time stamp and module, which the record has anyway, and texts that are empty; and redacts the
// others. A text of several lines stays in the line of its record.
func (l *pluginLogger) clean(args []any) []any {
	out := make([]any, 0, len(args))
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "timestamp" || args[i] == "@module" {
			continue
		}
		value := args[i+1]
		switch v := value.(type) {
		case string:
			value = l.redact(v)
		case error:
			value = l.redact(v.Error())
		case bool, int, int64, float64:
		default:
			value = l.redact(fmt.Sprint(v))
		}
		if text, ok := value.(string); ok {
			switch {
			case text == "":
				continue
			case strings.Contains(text, "\n"):
				value = hclog.Quote(text)
			default:
				value = oneLine(text)
			}
		}
		out = append(out, oneLine(l.redact(fmt.Sprint(args[i]))), value)
	}
	return out
}

// oneLine keeps a text from looking like several lines of the log, and from steering the terminal that shows it.
func oneLine(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, steers) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !steers(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// steers reports whether a character does something other than to be shown: those of control and formatting, and ends of lines.
func steers(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != '\t'
}

// pairs renders keys and values behind a message.
func pairs(args []any) string {
	var b strings.Builder
	for i := 0; i+1 < len(args); i += 2 {
		text := fmt.Sprint(args[i+1])
		if strings.ContainsAny(text, " \t\n\"=") {
			text = fmt.Sprintf("%q", text)
		}
		fmt.Fprintf(&b, " %v=%s", args[i], text)
	}
	return b.String()
}

func levelWord(level hclog.Level) string {
	if level < hclog.Trace || level > hclog.Error {
		return "debug"
	}
	return level.String()
}
