package appliance

import (
	"bytes"
	"io"
	"log"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
)

// partLogger lets lines through from the level of its part on. The logger below it lets all through.
type partLogger struct {
	hclog.Logger
	levels *logLevels
	part   string // "": none
	level  *atomic.Int32
}

func newPartLogger(to hclog.Logger, levels *logLevels) partLogger {
	return partLogger{Logger: to, levels: levels, level: levels.of("")}
}

func (l partLogger) lets(level hclog.Level) bool { return level >= hclog.Level(l.level.Load()) }

// GetLevel implements hclog.Logger.
func (l partLogger) GetLevel() hclog.Level { return hclog.Level(l.level.Load()) }

// SetLevel implements hclog.Logger: it is the level of the part.
func (l partLogger) SetLevel(level hclog.Level) { l.levels.set(l.part, level) }

// IsTrace implements hclog.Logger.
func (l partLogger) IsTrace() bool { return l.lets(hclog.Trace) }

// IsDebug implements hclog.Logger.
func (l partLogger) IsDebug() bool { return l.lets(hclog.Debug) }

// IsInfo implements hclog.Logger.
func (l partLogger) IsInfo() bool { return l.lets(hclog.Info) }

// IsWarn implements hclog.Logger.
func (l partLogger) IsWarn() bool { return l.lets(hclog.Warn) }

// IsError implements hclog.Logger.
func (l partLogger) IsError() bool { return l.lets(hclog.Error) }

// Log implements hclog.Logger.
func (l partLogger) Log(level hclog.Level, msg string, args ...any) {
	if l.lets(level) {
		l.Logger.Log(level, msg, args...)
	}
}

// Trace implements hclog.Logger.
func (l partLogger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }

// Debug implements hclog.Logger.
func (l partLogger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }

// Info implements hclog.Logger.
func (l partLogger) Info(msg string, args ...any) { l.Log(hclog.Info, msg, args...) }

// Warn implements hclog.Logger.
func (l partLogger) Warn(msg string, args ...any) { l.Log(hclog.Warn, msg, args...) }

// Error implements hclog.Logger.
func (l partLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

// With implements hclog.Logger.
func (l partLogger) With(args ...any) hclog.Logger {
	l.Logger = l.Logger.With(args...)
	return l
}

// Named implements hclog.Logger: what it returns is of the part below this one.
func (l partLogger) Named(name string) hclog.Logger {
	if l.part != "" {
		name = l.part + "." + name
	}
	return l.ResetNamed(name)
}

// ResetNamed implements hclog.Logger.
func (l partLogger) ResetNamed(part string) hclog.Logger {
	return partLogger{Logger: l.Logger.ResetNamed(loggerName + "." + part), levels: l.levels, part: part, level: l.levels.of(part)}
}

// StandardLogger implements hclog.Logger.
func (l partLogger) StandardLogger(o *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(l.StandardWriter(o), "", 0)
}

// StandardWriter implements hclog.Logger. Of the options the level that is forced counts; without it lines are of level info.
func (l partLogger) StandardWriter(o *hclog.StandardLoggerOptions) io.Writer {
	level := hclog.Info
	if o != nil && o.ForceLevel != hclog.NoLevel {
		level = o.ForceLevel
	}
	return standardWriter{l, level}
}

// standardWriter logs each line that a logger of Go's standard library writes.
type standardWriter struct {
	to    partLogger
	level hclog.Level
}

func (w standardWriter) Write(p []byte) (int, error) {
	w.to.Log(w.level, string(bytes.TrimRight(p, " \t\n")))
	return len(p), nil
}
