package api

import (
	"net/http"
	"time"
)

// StallingWriter writes a long answer whose client may take nothing for some time: a write that takes longer fails.
type StallingWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

// NewStallingWriter returns a writer that gives each write some time. Close it before the handler returns.
func NewStallingWriter(w http.ResponseWriter, stall time.Duration) *StallingWriter {
	return &StallingWriter{w: w, control: http.NewResponseController(w), stall: stall}
}

// Write implements io.Writer.
func (w *StallingWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.stall))
	return w.w.Write(p)
}

// Close takes the bound from the connection, for what is written after it.
func (w *StallingWriter) Close() { _ = w.control.SetWriteDeadline(time.Time{}) }
