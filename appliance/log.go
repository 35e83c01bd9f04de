package appliance

import (
	"bytes"
	"io"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/term"

	"github.com/wardroom/wardroom/core/config"
)

// loggerName is where the names of the parts in the log begin.
const loggerName = "wardroom"

// newLogger makes the process log: text for people and journald, JSON when asked for. In the journal, which
// stamps lines itself, the time is left out. Lines of the levels go to through, which passes them on to out.
func newLogger(c config.Log, levels *logLevels, out, through io.Writer) hclog.Logger {
	color := hclog.ColorOff
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		color = hclog.ForceColor // through is no terminal itself
	}
	return newPartLogger(hclog.New(&hclog.LoggerOptions{
		Name: loggerName, Level: hclog.Trace, Output: through,
		JSONFormat: c.Format == "json", DisableTime: inJournal(out) && c.Format != "json",
		Color: color, TimeFormat: "2006-01-02T15:04:05.000Z07:00",
	}), levels)
}

// inJournal reports whether what is written to out goes to journald: the variable names the file that does, and is
// inherited by processes whose output was redirected.
func inJournal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	id, known := fileIdentity(info)
	return known && id == os.Getenv("JOURNAL_STREAM")
}

// lineWriter has the log and the access log write their lines one after the other.
type lineWriter struct {
	mu     sync.Mutex // held while next is written to
	next   io.Writer
	levels bool // a line begins with its level, as journald reads it
}

// Write writes a line of no level.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next.Write(p)
}

// LevelWrite implements hclog.LevelWriter. journald takes each line of a record for one of its own.
func (w *lineWriter) LevelWrite(level hclog.Level, p []byte) (int, error) {
	priority, ok := journalPriorities[level]
	if !w.levels || !ok {
		return w.Write(p)
	}
	var out []byte
	for line := range bytes.Lines(p) {
		out = append(append(out, priority...), line...)
	}
	if _, err := w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// journalPriorities are the levels of syslog in the form that journald strips from a line (sd-daemon(3)).
var journalPriorities = map[hclog.Level]string{
	hclog.Trace: "<7>", hclog.Debug: "<7>", hclog.Info: "<6>", hclog.Warn: "<4>", hclog.Error: "<3>",
}
