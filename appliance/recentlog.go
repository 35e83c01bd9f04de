package appliance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

// Bounds of the log that is kept in memory.
const (
	recentLogBytes = 1 << 20
	recentLogLine  = 16 << 10 // bytes of one line; the rest is cut
	recentLogCost  = 96       // bytes that a line takes beside its text
)

// recentLine is a line as it was written.
type recentLine struct {
	at    time.Time
	level hclog.Level
	text  string
}

// recentLog passes the log on and keeps its end, for those who look into a server after the fact or while it runs. Writers
// never wait for readers. It implements core.ServerLogService.
type recentLog struct {
	next  io.Writer
	clock core.Clock

	mu    sync.Mutex // guards all below
	lines []recentLine
	size  int           // of lines, of recentLogBytes at most
	first uint64        // number of lines[0]
	moved chan struct{} // closed, and replaced, with each line
}

func newRecentLog(next io.Writer, clock core.Clock) *recentLog {
	return &recentLog{next: next, clock: clock, moved: make(chan struct{})}
}

// Write keeps a line of no known level.
func (l *recentLog) Write(p []byte) (int, error) { return l.LevelWrite(hclog.Info, p) }

// LevelWrite implements hclog.LevelWriter.
func (l *recentLog) LevelWrite(level hclog.Level, p []byte) (int, error) {
	line := recentLine{l.clock.Now(), level, string(p[:min(len(p), recentLogLine)])}
	if len(p) > recentLogLine {
		line.text = strings.ToValidUTF8(line.text, "") + " [cut]\n"
	}
	l.mu.Lock()
	l.lines = append(l.lines, line)
	l.size += len(line.text) + recentLogCost
	for l.size > recentLogBytes {
		l.size -= len(l.lines[0].text) + recentLogCost
		l.lines[0] = recentLine{}
		l.lines = l.lines[1:]
		l.first++
	}
	close(l.moved)
	l.moved = make(chan struct{})
	l.mu.Unlock()
	if next, ok := l.next.(hclog.LevelWriter); ok {
		return next.LevelWrite(level, p)
	}
	return l.next.Write(p)
}

// Bytes returns the end of the log, oldest first.
func (l *recentLog) Bytes() []byte {
	lines, _, _, _ := l.from(0)
	var all bytes.Buffer
	for _, line := range lines {
		all.WriteString(line.text)
	}
	return all.Bytes()
}

// from returns the lines from a number on, how many of them are gone, the number to go on with, and a channel that is closed
// when there are more.
func (l *recentLog) from(number uint64) (lines []recentLine, lost int, next uint64, moved <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if number < l.first {
		lost, number = int(l.first-number), l.first
	}
	return slices.Clone(l.lines[number-l.first:]), lost, l.first + uint64(len(l.lines)), l.moved
}

// FindServerLog implements core.ServerLogService.
func (l *recentLog) FindServerLog(_ context.Context, f core.ServerLogFilter) ([]core.ServerLogLine, error) {
	lines, _, _, _ := l.from(0)
	return selectLines(lines, f), nil
}

// FollowServerLog implements core.ServerLogService.
func (l *recentLog) FollowServerLog(ctx context.Context, f core.ServerLogFilter, visit func(core.ServerLogLine) error) error {
	lines, _, next, moved := l.from(0)
	lost := 0
	for {
		for _, line := range selectLines(lines, f) {
			line.Lost, lost = lost, 0
			if err := visit(line); err != nil {
				return err
			}
		}
		f.Tail = 0 // of what was there
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
		var gone int
		lines, gone, next, moved = l.from(next)
		lost += gone
	}
}

// selectLines returns the lines that a filter selects, as they are shown.
func selectLines(lines []recentLine, f core.ServerLogFilter) []core.ServerLogLine {
	out := []core.ServerLogLine{}
	least, text := hclog.LevelFromString(f.Level), strings.ToLower(f.Text)
	for _, kept := range slices.Backward(lines) {
		if f.Tail > 0 && len(out) == f.Tail {
			break
		}
		if kept.level < least || !f.Since.IsZero() && !kept.at.After(f.Since) {
			continue
		}
		line := kept.shown()
		if text == "" || strings.Contains(strings.ToLower(line.Part+": "+line.Message), text) {
			out = append(out, line)
		}
	}
	slices.Reverse(out)
	return out
}

// colors are what a log on a terminal has around its lines.
var colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

// fieldsOf returns the fields of a line of the format json, with their numbers as they were written; false of other lines.
func fieldsOf(text string) (values map[string]any, ok bool) {
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err := d.Decode(&values)
	return values, err == nil
}

// shown returns a line without what its own fields say.
func (r recentLine) shown() core.ServerLogLine {
	line := core.ServerLogLine{Timestamp: r.at, Level: r.level.String()}
	text := strings.TrimRight(colors.ReplaceAllString(r.text, ""), "\n")
	if values, ok := fieldsOf(text); ok {
		line.Part, _ = values["@module"].(string)
		line.Message, _ = values["@message"].(string)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !strings.HasPrefix(name, "@") {
				line.Message += fmt.Sprintf(" %s=%v", name, values[name])
			}
		}
		return line
	}
	if _, rest, found := strings.Cut(text, "] "); found && strings.Contains(text[:len(text)-len(rest)], "[") {
		text = strings.TrimLeft(rest, " ")
	}
	if part, rest, found := strings.Cut(text, ": "); found && strings.HasPrefix(part, loggerName) {
		line.Part, text = part, rest
	}
	line.Message = text
	return line
}

var _ core.ServerLogService = (*recentLog)(nil)
