package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/wardroom/wardroom/sdk/client"
)

// How often a live tree is drawn and read anew. Reading takes at most a fifth of the time, however long it takes.
const (
	drawEvery     = 100 * time.Millisecond
	readAtMost    = 150 * time.Millisecond // between two readings
	readAtLeast   = 2 * time.Second        // for what no event tells of, such as an agent or a server that is away
	readShare     = 5
	defaultHeight = 24

	// A drawing that is so late may be so because the process was stopped, which its signal reports a little later.
	lateAfter    = 3 * drawEvery
	signalWithin = 50 * time.Millisecond
	stopWithin   = time.Second // from the wish for a stop to the stop
)

// timelineWatch shows an execution on a terminal as a tree that is drawn in place.
type timelineWatch struct {
	c   *cli
	api *client.Client
	id  string
	out *os.File

	events   chan client.Event
	dirty    chan struct{} // buffered: something happened since the last reading began
	readings chan timelineReading
	failed   chan error // why the stream ended; nil at its proper end

	tree     *timelineTree
	readAt   time.Time
	away     string            // why the last reading failed, while it did
	progress map[string]string // by agent: what it said last of its work
	last     client.Event      // that ended the execution

	style         timelineStyle
	width, height int // of the terminal
	lines         []timelineLine
	drawn         int // lines of the terminal that the drawing takes
	drawnAt       time.Time
	goesOn        chan os.Signal // buffered: the process was stopped, and goes on
}

// timelineReading is what one reading of the timeline came to.
type timelineReading struct {
	tree *timelineTree
	at   time.Time
	err  error
}

// watchTree follows an execution on a terminal until it is over, and makes its outcome the command's.
func (c *cli) watchTree(ctx context.Context, api *client.Client, id string, out *os.File) error {
	bounded, cancel := c.bounded(ctx)
	tree, err := readTimeline(bounded, api, id)
	err = c.late(bounded, err)
	cancel()
	if err != nil {
		return err
	}
	w := &timelineWatch{
		c: c, api: api, id: id, out: out, tree: tree, readAt: time.Now(), progress: map[string]string{},
		events: make(chan client.Event), dirty: make(chan struct{}, 1), readings: make(chan timelineReading),
		failed: make(chan error, 1), style: c.timelineStyle(), goesOn: make(chan os.Signal, 1),
	}
	signal.Notify(w.goesOn, unix.SIGCONT)
	defer signal.Stop(w.goesOn)
	return w.run(ctx)
}

func (w *timelineWatch) run(ctx context.Context) error {
	if !client.Terminal(w.tree.timeline.Status) {
		if err := w.live(ctx); err != nil {
			w.draw(false)
			if ctx.Err() != nil {
				return &interruption{cause: err, hint: followHint(w.id)}
			}
			return err
		}
		if tree, err := readTimeline(ctx, w.api, w.id); err == nil {
			w.tree, w.readAt, w.lines = tree, time.Now(), nil
		}
	}
	w.draw(false)
	return w.outcome(ctx)
}

// live draws until the stream of events ends.
func (w *timelineWatch) live(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	stream, err := w.api.WatchExecution(ctx, w.id, strconv.FormatUint(w.tree.timeline.LastSequence, 10))
	if err != nil {
		return err
	}
	workers.Go(func() { w.listen(ctx, stream) })
	workers.Go(func() { w.read(ctx) })
	ticks := time.NewTicker(drawEvery)
	defer ticks.Stop()
	stops := make(chan os.Signal, 1)
	if !signal.Ignored(unix.SIGTSTP) {
		signal.Notify(stops, unix.SIGTSTP)
		defer signal.Stop(stops)
	}
	w.draw(true)
	for {
		select {
		case event := <-w.events:
			w.happened(event)
		case r := <-w.readings:
			w.took(r)
		case err := <-w.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-w.goesOn:
			w.drawn = 0 // a shell has shown something since, which stays
		case <-stops:
			w.stop()
		case <-ticks.C:
			w.style.spin++
			w.draw(true)
		}
	}
}

// Sequences for a drawing in place. The cursor is not hidden: the process may be stopped at any time, or killed.
const (
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
)

// listen hands on the events.
func (w *timelineWatch) listen(ctx context.Context, stream *client.Stream) {
	for event, err := range stream.Events() {
		if err != nil {
			w.failed <- err
			return
		}
		select {
		case w.events <- event:
		case <-ctx.Done():
			w.failed <- ctx.Err()
			return
		}
	}
	w.failed <- nil
}

// read reads the timeline whenever something happened.
func (w *timelineWatch) read(ctx context.Context) {
	pause := time.NewTimer(readAtLeast)
	defer pause.Stop()
	for {
		select {
		case <-w.dirty:
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		bounded, cancel := w.c.bounded(ctx)
		tree, err := readTimeline(bounded, w.api, w.id)
		cancel()
		select {
		case w.readings <- timelineReading{tree, time.Now(), err}:
		case <-ctx.Done():
			return
		}
		pause.Reset(max(readShare*time.Since(began), readAtMost))
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		pause.Reset(readAtLeast)
	}
}

// happened takes in an event.
func (w *timelineWatch) happened(event client.Event) {
	if event.Type == client.EventAgentProgress {
		if data, err := event.Decode(); err == nil && data.AgentID != "" {
			w.progress[data.AgentID], w.lines = clean(data.Text), nil
		}
		return
	}
	if event.Last() {
		w.last = event
	}
	select {
	case w.dirty <- struct{}{}:
	default: // it is to be read anyway
	}
}

// took takes in a reading. One that failed leaves what is shown: the stream tells when it is in vain to go on.
func (w *timelineWatch) took(r timelineReading) {
	if r.err != nil {
		w.away = "server away, reconnecting (" + clean(r.err.Error()) + ")"
		return
	}
	w.tree, w.readAt, w.away, w.lines = r.tree, r.at, "", nil
}

// draw puts the tree where the last drawing is. What is live fits the terminal; the last drawing shows more, since
// it may scroll away.
func (w *timelineWatch) draw(live bool) {
	width, height, err := term.GetSize(int(w.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = wideTerminal-1, defaultHeight
	}
	shrunk := width < w.width || height < w.height
	if width != w.width || height != w.height {
		w.width, w.height, w.lines = width, height, nil
		// The last column stays free: terminals differ in where the cursor is after it.
		w.style.width, w.style.widest = max(width-1, 1), 0
	}
	if !live {
		w.style.spin, w.lines = -1, nil
	}
	late := time.Since(w.readAt)
	text := []string{w.fitLine(w.tree.headline(func(_ style, text string) string { return text }, late), w.tree.headline(w.style.paint, late))}
	if w.away != "" && live {
		text = append(text, w.style.paint(styleBad, fitColumns(w.away, w.style.width, w.style.unicode)))
	}
	if w.lines == nil {
		room := height - len(text) - 1
		if !live {
			room = max(room, finalRows)
		}
		w.lines = w.tree.fit(&w.style, max(room, 1))
		w.say()
	}
	text = append(text, w.tree.draw(&w.style, w.lines, late)...)
	if !live && len(w.lines) < len(w.tree.rows) {
		text = append(text, fitColumns("all of it: wardroom execution timeline "+clean(w.id), w.style.width, w.style.unicode))
	}
	var b strings.Builder
	switch stopped := w.stopped(); { // asked last: what a shell showed until now stays
	case stopped || w.drawn == 0:
	case shrunk:
		// Lines of the last drawing are broken, or above the terminal now: there is no way back to its first.
		b.WriteString(clearScreen)
	default:
		fmt.Fprintf(&b, "\r\x1b[%dA", w.drawn)
	}
	for _, line := range text {
		b.WriteString(line + clearLine + "\n")
	}
	b.WriteString(clearBelow)
	w.drawn, w.drawnAt = len(text), time.Now()
	_, _ = io.WriteString(w.out, b.String()) // a terminal that is gone ends the command by a signal
}

// stop stops the process, as Ctrl-Z asks for, where it draws nothing until it goes on. It does so by another signal, since the
// runtime does not let SIGTSTP have its own effect again; and by one that has none, unlike SIGSTOP, where no shell could have the
// process go on.
func (w *timelineWatch) stop() {
	select {
	case <-w.goesOn: // from an earlier stop
		w.drawn = 0
	default:
	}
	if unix.Kill(unix.Getpid(), unix.SIGTTOU) != nil {
		return
	}
	timer := time.NewTimer(stopWithin)
	defer timer.Stop()
	select {
	case <-w.goesOn:
		w.drawn = 0
	case <-timer.C: // it may have become due in the meantime
		if w.stopped() {
			w.drawn = 0
		}
	}
}

// stopped reports whether the process was stopped since the last drawing. One that is late waits for the signal: what was due
// while the process stood still comes at the same time as that.
func (w *timelineWatch) stopped() bool {
	wait := time.Duration(0)
	if w.drawn > 0 && time.Since(w.drawnAt) > lateAfter {
		wait = signalWithin
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.goesOn:
		return true
	case <-timer.C:
	}
	select {
	case <-w.goesOn: // both were there
		return true
	default:
		return false
	}
}

// finalRows is how many rows the last drawing has at most, on a terminal that is lower.
const finalRows = 200

// fitLine returns painted unless plain, its text without colours, is too long for the terminal.
func (w *timelineWatch) fitLine(plain, painted string) string {
	if cut := fitColumns(plain, w.style.width, w.style.unicode); cut != plain {
		return cut
	}
	return painted
}

// say puts what agents said last beside what they do.
func (w *timelineWatch) say() {
	for i := range w.lines {
		n := w.lines[i].node
		if n == nil || !n.runs() {
			continue
		}
		e := n.entry
		if n.task != nil {
			e = n.task
		}
		if e.Kind == client.TimelineTask && w.progress[e.AgentID] != "" {
			w.lines[i].row = append(w.lines[i].row, piece{styleFaint, "  " + shorten(w.progress[e.AgentID], 80)})
		}
	}
}

// outcome prints the result and makes the command's exit code.
func (w *timelineWatch) outcome(ctx context.Context) error {
	state, result, reason := "", json.RawMessage(nil), (*client.ExecutionError)(nil)
	if data, err := w.last.Decode(); w.last.Type != "" && err == nil {
		state, result, reason = w.last.Type, data.Result, data.Error
	} else {
		// It was over, and its last event seen, before this stream began.
		exec, err := w.api.GetExecution(ctx, w.id)
		if err != nil {
			return err
		}
		state, result, reason = string(exec.Status), exec.Result, exec.Error
	}
	if len(result) > 0 && string(result) != "null" {
		if _, err := fmt.Fprintf(w.out, "result: %s\n", compact(result, 0)); err != nil {
			return err
		}
	}
	return executionOutcome(w.id, state, reason)
}
