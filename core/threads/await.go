package threads

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// awaitTimeout is how long the end of a message's turn is waited for, unless the caller says otherwise.
const awaitTimeout = 2 * time.Minute

// errOver is that nothing more comes of a message.
var errOver = errors.New("the thread is over")

// AwaitThreadInput implements core.ThreadService.
func (s *Service) AwaitThreadInput(ctx context.Context, id, inputID string, timeout time.Duration) (core.ThreadReceipt, error) {
	r, err := s.stored(ctx, id)
	if err != nil {
		return core.ThreadReceipt{}, err
	}
	if inputID == "" {
		if inputID = r.AskedInput; inputID == "" {
			return core.ThreadReceipt{}, core.Conflict("thread", id, string(r.Status), "the thread began without a message, so no turn answers it")
		}
	}
	return s.awaitInput(ctx, r, inputID, 0, timeout)
}

// awaitInput waits for the end of the turn of a message that was stored behind the event at after.
func (s *Service) awaitInput(ctx context.Context, r *core.ThreadRecord, inputID string, after uint64, timeout time.Duration) (core.ThreadReceipt, error) {
	timeout = cmp.Or(max(timeout, 0), awaitTimeout)
	waiting, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	w := &inputWait{s: s, id: r.ID, inputID: inputID}
	response, err := w.follow(waiting, core.ThreadGroup(r.ExecutionID), after)
	switch {
	case err == nil:
		return core.ThreadReceipt{ThreadID: r.ID, InputID: inputID, Sent: true, Queued: s.queued(r.ID), Response: response}, nil
	case ctx.Err() == nil && waiting.Err() != nil:
		e := core.Errorf(core.CodeTimeout, "the turn of the message did not end in time; the message stays, and the same "+
			"Idempotency-Key waits for it again")
		e.Details = map[string]any{"timeoutMs": timeout.Milliseconds(), "inputId": inputID}
		return core.ThreadReceipt{}, e
	case core.AsError(err).Unavailable:
		return core.ThreadReceipt{}, staying(err, r.ID, inputID)
	}
	return core.ThreadReceipt{}, err
}

// staying names a message that stays in an error that passes by itself: sent again without its key, it would be there twice.
func staying(err error, threadID, inputID string) error {
	own := *core.AsError(err)
	details := map[string]any{"threadId": threadID, "inputId": inputID}
	maps.Copy(details, own.Details) // a copy: all who wait get the same error
	own.Details = details
	return &own
}

// queued is how many messages of a thread wait.
func (s *Service) queued(id string) int {
	if t := s.find(id); t != nil {
		return t.record().QueuedInputs
	}
	return 0
}

// inputWait is somebody who waits for the turn of a message. Nothing but stored events tells of it, so the wait can begin
// anew after a crash.
type inputWait struct {
	s           *Service
	id, inputID string
	last        *wire.TurnResponse // of the last turn of the thread
	own         *wire.TurnResponse // of the message's last turn, which failed: it may be given again
}

// follow reads events of the thread, from one on, until the message has its response.
func (w *inputWait) follow(ctx context.Context, group string, after uint64) (*wire.TurnResponse, error) {
	events, err := w.s.opts.Streams.Follow(ctx, group, after)
	if err != nil {
		return nil, err
	}
	defer events.Close()
	for {
		ev, err := events.Next(ctx)
		if errors.Is(err, io.EOF) {
			err = errOver
		}
		if err == nil {
			if ev.Subject != w.id {
				continue
			}
			response, eventErr := w.take(&ev)
			if response != nil {
				return response, nil
			}
			err = eventErr
		}
		switch {
		case errors.Is(err, errOver) && w.own != nil:
			return w.own, nil
		case errors.Is(err, errOver):
			return nil, core.Conflict("thread", w.id, "", "the thread ended before the agent was known to have taken the message")
		case err != nil:
			return nil, err
		}
	}
}

// take takes an event, and returns the response if it is known now.
func (w *inputWait) take(ev *core.Event) (*wire.TurnResponse, error) {
	switch ev.Type {
	case core.EventThreadTurnComplete:
		var d turnData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return nil, err
		}
		w.last = &wire.TurnResponse{Turn: d.Turn, DurationMs: d.DurationMs, TurnOutcome: d.TurnOutcome}
		if d.Output != nil {
			w.last.Text = *d.Output
		}
		if d.InputID == w.inputID {
			return w.settle(d.Again), nil
		}
	case core.EventThreadStatus:
		var d statusData
		if err := json.Unmarshal(ev.Data, &d); err != nil || d.InputID != w.inputID {
			return nil, err
		}
		switch d.Status {
		case statusTurnOf:
			if w.last != nil && w.last.Turn == d.Turn {
				return w.settle(false), nil
			}
		case statusRepeated, statusResumed:
			w.own = nil
		case statusWithdrawn:
			return nil, core.Conflict("input", w.inputID, "", "the message was withdrawn")
		case statusRefused:
			return nil, core.Conflict("input", w.inputID, "", "the agent refused the message: %s", d.Reason)
		}
	case core.EventThreadCompleted, core.EventThreadFailed, core.EventThreadStopped:
		return nil, errOver
	}
	return nil, nil
}

// settle takes that the last turn was the message's own. One that failed is no response if the message is given to the agent
// again; where the agent ended within the turn, that is reported later, or the thread ends.
func (w *inputWait) settle(again bool) *wire.TurnResponse {
	w.own = w.last
	if again || w.own.Error != nil && w.own.Error.Code == wire.TurnAgentEnded {
		return nil
	}
	return w.own
}
