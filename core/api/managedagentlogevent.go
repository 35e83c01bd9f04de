package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/wardroom/wardroom/core"
)

// logFrame renders a line.
func logFrame(ev core.Event) []byte {
	if ev.Type == logEnd {
		return frameOf(string(logEnd), 0, ev.Data)
	}
	b := logPlace{ev.Time, ev.Seq}.append([]byte("id: "))
	return append(append(b, '\n'), frameOf("log", 0, ev.Data)...)
}

// logEnd is the type of the last event of a followed log.
const logEnd core.EventType = "end"

// logEvents makes events of lines, so that they can be waited for together with heartbeats.
type logEvents struct {
	lines core.LogStream
	next  chan core.Event
	done  chan struct{} // closed when the reading goroutine is gone; err is set then
	err   error
	first *core.Event // read ahead
	ended bool        // the end was reported
}

// newLogEvents begins to read; lines up to the place after are left out.
func newLogEvents(ctx context.Context, lines core.LogStream, after logPlace) *logEvents {
	e := &logEvents{lines: lines, next: make(chan core.Event), done: make(chan struct{})}
	go e.read(ctx, after)
	return e
}

func (e *logEvents) read(ctx context.Context, after logPlace) {
	defer close(e.done)
	var here logPlace
	for {
		line, err := e.lines.Next()
		if err != nil {
			e.err = err
			return
		}
		if here.nth++; !here.at.Equal(line.Timestamp) {
			here = logPlace{line.Timestamp, 1}
		}
		if here.at.Equal(after.at) && here.nth <= after.nth {
			continue
		}
		select {
		case e.next <- core.Event{Time: here.at, Seq: here.nth, Data: appendValue(nil, line)}:
		case <-ctx.Done():
			e.err = ctx.Err()
			return
		}
	}
}

// over waits for the first line, a heartbeat's time at most, and reports whether there is none and never will be.
func (e *logEvents) over() bool {
	timer := time.NewTimer(resumeWait)
	defer timer.Stop()
	select {
	case ev := <-e.next:
		e.first = &ev
		return false
	case <-e.done:
		return errors.Is(e.err, io.EOF)
	case <-timer.C:
		return false
	}
}

// resumeWait is how long a resumed follower is looked at before it gets its headers, in real time.
const resumeWait = 200 * time.Millisecond

// Next implements core.EventStream.
func (e *logEvents) Next(ctx context.Context) (core.Event, error) {
	if ev := e.first; ev != nil {
		e.first = nil
		return *ev, nil
	}
	select {
	case ev := <-e.next:
		return ev, nil
	case <-e.done:
		if errors.Is(e.err, io.EOF) && !e.ended {
			e.ended = true
			return core.Event{Type: logEnd, Data: json.RawMessage("{}")}, nil
		}
		return core.Event{}, e.err
	case <-ctx.Done():
		return core.Event{}, ctx.Err()
	}
}

// Close implements core.EventStream; close does the work.
func (e *logEvents) Close() {}

// close ends the reading. The context that the lines were opened with has ended, so that Next returns.
func (e *logEvents) close() {
	_ = e.lines.Close()
	<-e.done
}
