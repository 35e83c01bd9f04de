package plugintest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
)

// Log keeps what a plugin logs. It is safe for concurrent use.
type Log struct {
	mu      sync.Mutex // guards all below
	text    bytes.Buffer
	changed chan struct{} // closed at the next write
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return l.text.Write(p)
}

// String returns everything that was logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Wait waits until the log holds a text.
func (l *Log) Wait(ctx context.Context, text string) error {
	for {
		l.mu.Lock()
		found := strings.Contains(l.text.String(), text)
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the plugin did not log %q; it logged:\n%s", text, l)
		}
	}
}
