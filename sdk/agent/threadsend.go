package agent

import (
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Pauses after the server refused an event that may be taken later.
const (
	limitedThreads = time.Second
	gapPause       = 100 * time.Millisecond
	maxGaps        = 50 // of one thread, without an event that was taken: something is wrong then
)

// send sends what threads told, at a pace that the server takes, until the session ends.
func (th *threads) send(s *session) {
	for {
		pause, waits := th.waiting(s.out)
		switch {
		case !waits:
			select {
			case <-th.wake:
				continue
			case <-s.dead:
				return
			}
		case pause == 0:
			pause = th.turn()
		}
		if pause > 0 {
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-s.dead:
				timer.Stop()
				return
			}
		}
		th.keep()
		th.sendOne(s.out)
	}
}

// waiting reports whether an event is to be sent, and how long nothing may be.
func (th *threads) waiting(out *outbox) (pause time.Duration, waits bool) {
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.out != out {
		return 0, false
	}
	for _, t := range th.byID {
		if !t.entry.spawning && t.entry.sent < len(t.entry.unacked) {
			return max(0, th.pause.Sub(th.agent.ledger.now())), true
		}
	}
	return 0, false
}

// turn reserves a place in the row of events and returns the time until it comes.
func (th *threads) turn() time.Duration {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.pace.turn(th.agent.ledger.now(), th.rate)
}

// limit takes over how many frames a second the server takes; 0: it did not say.
func (th *threads) limit(perSecond int) {
	if th == nil {
		return
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	th.rate = framesPerSecond
	if perSecond > 0 {
		th.rate = max(1, int(rateShare*float64(perSecond)))
	}
}

// sendOne sends one event of the thread whose turn it is.
func (th *threads) sendOne(out *outbox) {
	th.mu.Lock()
	defer th.mu.Unlock()
	now := th.agent.ledger.now()
	if th.out != out || now.Before(th.pause) {
		return
	}
	for range th.ids {
		if th.next >= len(th.ids) {
			th.next = 0
		}
		t := th.byID[th.ids[th.next]]
		th.next++
		e := &t.entry
		if e.spawning || e.sent >= len(e.unacked) {
			continue
		}
		ev := e.unacked[e.sent]
		if th.lasting() && ev.seq > e.kept { // it was told meanwhile
			continue
		}
		e.sent++
		out.push(false, func(b []byte) []byte {
			b = appendHead(b, protocol.TypeThreadEvent, eventID(t.Spec.ThreadID, ev.seq), now)
			return protocol.AppendTail(append(b, ev.payload...))
		})
		return
	}
}

// flush sends what waits, without regard to the pace: nothing comes after it.
func (th *threads) flush(out *outbox) {
	if th == nil {
		return
	}
	for {
		if _, waits := th.waiting(out); !waits {
			return
		}
		th.mu.Lock()
		th.pause = time.Time{}
		th.mu.Unlock()
		th.keep()
		th.sendOne(out)
	}
}

// eventID is the id of the frame of an event, which an error repeats.
func eventID(threadID string, seq uint64) string {
	return eventPrefix + threadID + "/" + strconv.FormatUint(seq, 10)
}

// eventPrefix tells ids of events from those of messages.
const eventPrefix = "event/"

// refused takes an error of the server that may be about an event, and returns whether it is.
func (th *threads) refused(id string, e protocol.Error) bool {
	if th == nil {
		return false
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	now := th.agent.ledger.now()
	if e.Code == codeRateLimited { // it names one of the frames that were dropped
		for _, t := range th.byID {
			t.entry.sent = 0
		}
		th.pause = now.Add(limitedThreads)
		th.signal()
	}
	rest, ok := strings.CutPrefix(id, eventPrefix)
	threadID, number, _ := strings.Cut(rest, "/")
	seq, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil {
		return false
	}
	t := th.byID[threadID]
	if t == nil {
		return true // forgotten meanwhile
	}
	at := -1
	for i, ev := range t.entry.unacked {
		if ev.seq == seq {
			at = i
		}
	}
	switch {
	case at < 0:
		return true
	case e.Code == codeRateLimited:
		return false // questions may be among the dropped ones too
	case e.Code == codeConflict && t.entry.retries < maxGaps:
		t.entry.retries++
		t.entry.sent = 0
		th.pause = now.Add(gapPause)
	case e.Code == codeValidation && !t.entry.unacked[at].replaced:
		th.replace(t, t.entry.unacked[at])
		t.entry.sent = 0
	default:
		th.agent.opts.Logger.Warn("agent gives up a thread that the server does not take", "thread", threadID,
			"code", e.Code, "message", e.Message)
		th.forget(t)
		th.abandon(t, ErrReassigned)
	}
	th.signal()
	return true
}

// Codes of the server for events, besides those for messages.
const (
	codeConflict   = "CONFLICT"
	codeValidation = "VALIDATION_ERROR"
)

// replace puts an event that the server does not take into words, so that those after it can be taken. Called
// with mu held.
func (th *threads) replace(t *Thread, ev *told) {
	kind := protocol.ThreadMessage
	if t.entry.over && ev.seq == t.entry.last {
		kind = protocol.ThreadStopped
	}
	payload, err := encodeThreadEvent(&protocol.ThreadEvent{
		ThreadID: t.Spec.ThreadID, Sequence: ev.seq, Type: kind, InputTaken: ev.input,
		Data: protocol.ThreadData{Text: "An event of this thread was refused by the server."},
	}, th.agent.maxFrame.Load())
	ev.replaced = true
	if err != nil {
		return
	}
	th.bytes += len(payload) - len(ev.payload)
	ev.payload = payload
}
