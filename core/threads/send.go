package threads

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

// arrival is a message that is about to be stored.
type arrival struct {
	input *core.QueuedInput
	claim *core.IdempotencyClaim
	done  chan struct{} // closed once it is stored, or not
	count int           // that wait, this one included
	err   error
}

// SendThread implements core.ThreadService.
func (s *Service) SendThread(ctx context.Context, id string, in core.ThreadInput) (core.ThreadReceipt, error) {
	if err := checkInput(in); err != nil {
		return core.ThreadReceipt{}, err
	}
	if in.InputID != "" && in.Message != "" {
		r, err := s.opts.Store.FindThread(ctx, id)
		if err != nil {
			return core.ThreadReceipt{}, err
		}
		if r.Kind != core.ThreadKindRole { // it was stored with its id, and waits or was taken
			return core.ThreadReceipt{ThreadID: id, InputID: in.InputID, Sent: true, Queued: r.QueuedInputs}, nil
		}
	}
	t, err := s.active(ctx, id)
	if err != nil {
		return core.ThreadReceipt{}, err
	}
	r := t.record()
	if r.Kind == core.ThreadKindRole && in.ExpectResponse {
		return core.ThreadReceipt{}, core.Invalid("expectResponse", "is not for a thread that serves a role: its turns are its execution's")
	}
	if in.Message == "" || r.Kind == core.ThreadKindRole {
		return t.sendNow(ctx, in)
	}
	after := s.opts.Store.LastSeq()
	receipt, err := t.enqueue(context.WithoutCancel(ctx), in.Message)
	if err != nil || !in.ExpectResponse {
		return receipt, err
	}
	return s.awaitInput(ctx, r, receipt.InputID, after, in.Timeout)
}

// active returns a thread that is not over. NOT_FOUND; CONFLICT for one that is.
func (s *Service) active(ctx context.Context, id string) (*thread, error) {
	if t := s.find(id); t != nil {
		if r := t.record(); r.Ending != nil || r.Status.Terminal() {
			return nil, over(r)
		}
		return t, nil
	}
	r, err := s.opts.Store.FindThread(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Status.Terminal() {
		return nil, over(r)
	}
	if t := s.find(id); t != nil { // it was just stored
		return t, nil
	}
	return nil, core.Unavailable("starting", "the thread is not supervised yet; try again")
}

// checkInput finds what is wrong with an input; names of keys are the runtime's to check.
func checkInput(in core.ThreadInput) error {
	given := 0
	for _, there := range []bool{in.Message != "", in.Raw != "", len(in.Keys) > 0} {
		if there {
			given++
		}
	}
	switch {
	case given == 0:
		return core.Invalid("message", "is missing: give exactly one of message, raw and keys")
	case given > 1:
		return core.Invalid("message", "give exactly one of message, raw and keys")
	case len(in.Message) > maxMessage:
		return core.Invalid("message", "must be at most %d bytes", maxMessage)
	case in.Message != "" && strings.TrimSpace(in.Message) == "":
		return core.Invalid("message", "must not be white space only")
	case !utf8.ValidString(in.Message):
		return core.Invalid("message", "must be valid UTF-8")
	case in.ExpectResponse && in.Message == "":
		return core.Invalid("expectResponse", "goes with a message only")
	case len(in.Raw) > maxMessage:
		return core.Invalid("raw", "must be at most %d bytes", maxMessage)
	case len(in.Keys) > maxKeys:
		return core.Invalid("keys", "must be at most %d", maxKeys)
	}
	return nil
}

// enqueue stores a message behind those that wait. Messages that arrive while others are being stored share the next
// transaction, in the order of the calls.
func (t *thread) enqueue(ctx context.Context, message string) (core.ThreadReceipt, error) {
	a := &arrival{
		input: &core.QueuedInput{ID: t.s.opts.IDs.New(core.PrefixInput), ThreadID: t.id, Message: message, CreatedAt: t.s.clock.Now(), CreatedBy: core.PrincipalFrom(ctx).ID},
		claim: core.IdempotencyFrom(ctx), done: make(chan struct{}),
	}
	t.mu.Lock()
	t.arriving = append(t.arriving, a)
	t.mu.Unlock()
	t.admit(ctx)
	<-a.done
	if a.err != nil {
		return core.ThreadReceipt{}, a.err
	}
	return core.ThreadReceipt{ThreadID: t.id, InputID: a.input.ID, Sent: true, Queued: a.count}, nil
}

// admit stores all messages that arrived. Whoever comes later finds them stored, or stores them.
func (t *thread) admit(ctx context.Context) {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	list := t.arriving
	t.arriving = nil
	t.mu.Unlock()
	if len(list) == 0 {
		return
	}
	err := t.admitAll(ctx, list)
	if core.ErrorCode(err) == core.CodeConflict && len(list) > 1 { // one of them may be at fault, for its idempotency key
		for _, a := range list {
			if a.err == nil {
				a.err = t.admitAll(ctx, []*arrival{a})
			}
		}
		err = nil
	}
	for _, a := range list {
		if a.err == nil {
			a.err = err
		}
		close(a.done)
	}
	t.touch()
}

// admitAll stores messages in one transaction. Those that there is no room for get their error; the others share
// what is returned. The caller holds writing.
func (t *thread) admitAll(ctx context.Context, list []*arrival) error {
	config := t.s.config.Load()
	var taken []*arrival
	_, err := t.store(ctx, func(c *change) error {
		r := c.rec
		if r.Ending != nil || r.Status.Terminal() {
			return over(r)
		}
		bytes := t.waiting
		for _, a := range list {
			if a.err != nil {
				continue
			}
			count := waits(r)
			size := int64(len(a.input.Message))
			if count >= config.MaxQueued || bytes+size > config.MaxQueuedBytes {
				a.err = full(count, config)
				continue
			}
			r.InputSeq++
			bytes += size
			a.input.Number, a.count = r.InputSeq, count+1
			taken = append(taken, a)
			c.by = a.input.CreatedBy
			c.event(core.EventThreadInput, inputOf(a.input, inputQueued))
		}
		if len(taken) == 0 {
			return errUnchanged
		}
		c.by = taken[0].input.CreatedBy
		c.freed = t.waiting - bytes
		r.LastActivityAt = c.now
		if r.Status == core.ThreadIdle {
			r.Status, r.IdleSince = core.ThreadReady, nil
			c.event(core.EventThreadStatus, statusData{Status: string(core.ThreadReady)})
		}
		c.extra = append(c.extra, func(tx core.Tx) error {
			for _, a := range taken {
				if err := tx.ClaimIdempotency(a.claim, a.input.ID, c.now); err != nil {
					return err
				}
				if err := tx.PutInput(a.input); err != nil {
					return err
				}
			}
			return nil
		})
		return nil
	})
	return err
}

func full(count int, config *Config) error {
	return core.RateLimited(int64(config.MaxQueued), 0, 0, "%d messages wait for the agent; at most %d messages or %d bytes may "+
		"(threads.maxQueuedInputs): send again when it has taken some", count, config.MaxQueued, config.MaxQueuedBytes)
}

// sendNow gives the agent what does not wait in the queue: raw bytes and keys, and messages to the agents of roles,
// whose turns are the engine's. The Idempotency-Key is claimed before, for the id under which the agent gets it: an agent that
// got an id takes nothing under it again.
func (t *thread) sendNow(ctx context.Context, in core.ThreadInput) (core.ThreadReceipt, error) {
	r := t.record()
	receipt := core.ThreadReceipt{ThreadID: t.id, Sent: true, Queued: r.QueuedInputs}
	if r.StartedAt == nil || startsAgain(r) {
		return core.ThreadReceipt{}, core.Conflict("thread", t.id, string(r.Status), "no agent of the thread runs now")
	}
	key, repeatable := in.InputID, in.InputID != ""
	if key == "" {
		key = t.s.opts.IDs.New(core.PrefixInput)
		if claim := core.IdempotencyFrom(ctx); claim != nil {
			repeatable = true
			err := t.s.opts.Store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
				return tx.ClaimIdempotency(claim, key, t.s.clock.Now())
			})
			if err != nil {
				return core.ThreadReceipt{}, err
			}
		}
	}
	if t.isRemote() {
		if err := t.typeAtHost(ctx, key, in); err != nil {
			return core.ThreadReceipt{}, err
		}
		return receipt, nil
	}
	if in.Message != "" {
		receipt.InputID = key
	} else if !repeatable {
		key = "" // the runtime need not remember it
	}
	_, err := t.s.opts.ManagedAgents.SendManagedAgent(ctx, r.ManagedAgentID, core.ManagedAgentInput{
		Message: in.Message, Raw: in.Raw, Keys: in.Keys, Key: key, OwnKey: !repeatable,
	})
	if err != nil {
		return core.ThreadReceipt{}, ofThread(err, r)
	}
	if in.Message != "" {
		sent := inputOf(&core.QueuedInput{ID: key, Message: in.Message, CreatedBy: core.PrincipalFrom(ctx).ID}, inputSent)
		err = t.change(context.WithoutCancel(ctx), func(c *change) error {
			c.event(core.EventThreadInput, sent)
			if repeatable { // a request before this one may have ended between the event and its answer
				c.extra = append(c.extra, func(tx core.Tx) error {
					err := tx.ClaimIdempotency(&core.IdempotencyClaim{Scope: "sent " + t.id, Key: key}, key, c.now)
					if core.ErrorCode(err) == core.CodeConflict {
						return errUnchanged
					}
					return err
				})
			}
			return nil
		})
		if err != nil && !errors.Is(err, errUnchanged) { // the agent has it all the same
			t.log.Warn("a message that was sent cannot be told", "input", key, "error", err)
		}
	}
	return receipt, nil
}

// ofThread makes an error about an agent one about its thread.
func ofThread(err error, r *core.ThreadRecord) error {
	e := core.AsError(err)
	switch e.Code {
	case core.CodeNotFound:
		return core.Conflict("thread", r.ID, string(r.Status), "the agent of the thread is gone").WithCause(err)
	case core.CodeConflict:
		c := core.Conflict("thread", r.ID, string(r.Status), "%s", e.Message)
		if code := runtimecode.Of(err); code != "" {
			c.Details["runtimeCode"] = code
		}
		return c.WithCause(err)
	}
	return err
}
