package appliance

import (
	"io"
	"sync"
)

// lineWriter has the log and the access log write their lines one after the other.
type lineWriter struct {
	mu   sync.Mutex // held while next is written to
	next io.Writer
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next.Write(p)
}

// recentLogBytes is how much of the log is kept in memory.
const recentLogBytes = 256 << 10

// recentLog passes the log on and keeps its end, for those who look into a server after the fact.
type recentLog struct {
	next io.Writer

	mu   sync.Mutex // guards all below
	ring []byte     // of recentLogBytes at most
	at   int        // where the next byte goes, once ring is full
}

func (l *recentLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	kept := p[max(0, len(p)-recentLogBytes):]
	if room := recentLogBytes - len(l.ring); room > 0 {
		n := min(room, len(kept))
		l.ring = append(l.ring, kept[:n]...)
		kept = kept[n:]
	}
	for len(kept) > 0 {
		n := copy(l.ring[l.at:], kept)
		l.at = (l.at + n) % recentLogBytes
		kept = kept[n:]
	}
	l.mu.Unlock()
	return l.next.Write(p)
}

// Bytes returns the end of the log, oldest first.
func (l *recentLog) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(append(make([]byte, 0, len(l.ring)), l.ring[l.at:]...), l.ring[:l.at]...)
}
