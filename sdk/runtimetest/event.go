package runtimetest

import (
	"context"
	"errors"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// events is the history of a world. Readers look into it, so none of them is ever too slow but by falling
// behind what is kept.
type events struct {
	id string

	mu      sync.Mutex // guards all below
	kept    []runtime.Event
	seq     uint64
	trimmed uint64        // of the newest event that was dropped for want of room
	changed chan struct{} // closed at the next event
}

func (e *events) add(event runtime.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seq++
	event.Seq, event.Log, event.Time = e.seq, e.id, time.Now()
	e.kept = append(e.kept, event)
	if len(e.kept) > 2*maxKept {
		e.trimmed = e.kept[len(e.kept)-maxKept-1].Seq
		e.kept = append([]runtime.Event(nil), e.kept[len(e.kept)-maxKept:]...)
	}
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// after returns the first kept event behind seq that is about the agent, or a channel that tells when to look
// again. seen is how far it looked.
func (e *events) after(seq uint64, agentID string) (event *runtime.Event, seen uint64, wait <-chan struct{}, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if seq > 0 && seq < e.trimmed {
		return nil, seq, nil, runtime.Errorf(runtime.CodeLagged, "events up to %d are not kept any more", e.trimmed)
	}
	begin := sort.Search(len(e.kept), func(i int) bool { return e.kept[i].Seq > seq })
	for i := begin; i < len(e.kept); i++ {
		if agentID == "" || e.kept[i].AgentID == agentID {
			return &e.kept[i], e.kept[i].Seq, nil, nil
		}
	}
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return nil, max(seq, e.seq), e.changed, nil
}

// remove drops the events of an agent.
func (e *events) remove(agentID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = slices.DeleteFunc(slices.Clone(e.kept), func(event runtime.Event) bool { return event.AgentID == agentID })
}

func (e *events) last() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seq
}

// eventStream implements runtime.EventStream.
type eventStream struct {
	ctx    context.Context // of the call that opened the stream
	stop   context.CancelFunc
	alive  context.Context // of the runtime
	events *events
	agent  string
	seq    uint64
}

// Next implements runtime.EventStream.
func (s *eventStream) Next() (runtime.Event, error) {
	for {
		if err := ended(s.ctx, s.alive); err != nil {
			return runtime.Event{}, err
		}
		event, seen, wait, err := s.events.after(s.seq, s.agent)
		if err != nil {
			return runtime.Event{}, err
		}
		s.seq = seen
		if event != nil {
			return *event, nil
		}
		select {
		case <-wait:
		case <-s.ctx.Done():
		case <-s.alive.Done():
		}
	}
}

// Close implements runtime.EventStream.
func (s *eventStream) Close() error {
	s.stop()
	return nil
}

// ended returns the error of a call or a stream whose context, or whose runtime, has ended.
func ended(ctx, alive context.Context) error {
	switch {
	case alive.Err() != nil:
		return &runtime.Error{Code: runtime.CodeUnavailable, Message: "the runtime is gone", Retry: true}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return runtime.Errorf(runtime.CodeTimeout, "the call did not end in time")
	case ctx.Err() != nil:
		return runtime.Errorf(runtime.CodeCanceled, "the call was cancelled")
	}
	return nil
}
