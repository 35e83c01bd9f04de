package trigger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/turn"
	"github.com/wardroom/wardroom/sdk/wire"
)

// refused is what everybody gets who cannot sign.
func refused() error {
	e := core.Errorf(core.CodeUnauthorized, "there is no trigger of that id for a request with that signature")
	e.Details = map[string]any{"reason": "invalid"}
	return e
}

// Receive implements core.TriggerService.
func (s *Service) Receive(ctx context.Context, id string, r core.TriggerRequest) (*core.TriggerReceipt, error) {
	out, what, err := s.receive(ctx, id, r)
	s.opts.Observer.Received(what)
	return out, err
}

// receive is Receive; what says for the metrics what became of the request.
func (s *Service) receive(ctx context.Context, id string, r core.TriggerRequest) (out *core.TriggerReceipt, what string, err error) {
	p, ok := proofOf(r.Header)
	if !ok {
		return nil, "unauthorized", refused()
	}
	came := s.opts.Clock.Now()
	waits, t := s.peek(id)
	t = cmp.Or(t, &snapshot{rec: new(core.TriggerRecord)})
	if !p.good(t.rec.Scheme, valid(t.secrets, came), r.Body, came) {
		return nil, "unauthorized", refused()
	}
	defer waits.received.Add(-1)
	if waits.received.Add(1) > maxReceived {
		return nil, "limited", core.RateLimited(maxReceived, 0, time.Second, "%d requests to the trigger are under way; try again in a second", maxReceived)
	}
	for range maxTurns {
		if out, what, err = s.take(ctx, waits, &p, r, came); !errors.Is(err, turn.ErrWanted) {
			return out, what, err
		}
	}
	return nil, string(wire.TriggerFailed), core.Unavailable("changing", "the trigger is changed again and again; send the request again")
}

// take works on a request once it is its turn. ErrWanted where a change is waited for, and nothing was started.
func (s *Service) take(ctx context.Context, e *entry, p *proof, r core.TriggerRequest, came time.Time) (out *core.TriggerReceipt, what string, err error) {
	work, err := e.turn.Take(ctx)
	if err != nil {
		return nil, string(wire.TriggerFailed), err // the sender has left
	}
	defer e.turn.Release()
	there := s.load(e)
	id, now := e.rec.ID, s.opts.Clock.Now()
	if !there || !p.good(e.rec.Scheme, valid(e.secrets, now), r.Body, came) {
		return nil, "unauthorized", refused() // it was deleted, or given another secret, meanwhile
	}
	// From here on the sender is who it should be.
	if !e.rec.Enabled {
		return nil, "disabled", core.Conflict("trigger", id, "disabled", "the trigger is disabled")
	}
	if reserved := e.limit.ReserveN(now, 1); !reserved.OK() || reserved.DelayFrom(now) > 0 {
		wait := max(1, int((reserved.DelayFrom(now)+time.Second-1)/time.Second))
		reserved.CancelAt(now)
		return nil, "limited", core.RateLimited(int64(e.rec.RatePerMinute), time.Minute, time.Duration(wait)*time.Second,
			"the trigger takes %d requests a minute; try again in %d seconds", e.rec.RatePerMinute, wait)
	}
	if !wants(&e.rec.Trigger, p.event) {
		return &core.TriggerReceipt{TriggerID: id, Outcome: wire.TriggerIgnored}, string(wire.TriggerIgnored), nil
	}
	keys := p.keys(r.Body)
	for _, key := range keys {
		before, err := s.store.FindIdempotency(ctx, scopeOf(id), key, now)
		if err != nil {
			return nil, string(wire.TriggerFailed), err
		}
		if before != nil {
			return &core.TriggerReceipt{TriggerID: id, Outcome: wire.TriggerDuplicate, RunRef: refOf(before)}, string(wire.TriggerDuplicate), nil
		}
	}
	ref, err := s.start(work, e, p, keys, r)
	if err != nil && (errors.Is(context.Cause(work), turn.ErrWanted) || errors.Is(err, errStale)) {
		return nil, "", turn.ErrWanted
	}
	switch code := core.ErrorCode(err); {
	case err == nil:
		return &core.TriggerReceipt{TriggerID: id, Outcome: wire.TriggerStarted, RunRef: ref}, string(wire.TriggerStarted), nil
	case code == core.CodeForbidden || code == core.CodeUnauthorized:
		s.block(ctx, e, p, core.AsError(err))
		return nil, string(wire.TriggerBlocked), core.Forbidden("executions.create", "", "the trigger is blocked: whoever it belongs to may not start what it starts")
	default:
		s.fail(ctx, e, p, core.AsError(err))
		return nil, string(wire.TriggerFailed), err
	}
}

// scopeOf returns the scope of the idempotency claims of requests to a trigger.
func scopeOf(id string) string { return "hooks " + id }

// refOf returns what the first of several requests started.
func refOf(r *core.IdempotencyRecord) core.RunRef {
	var ref core.RunRef
	_ = json.Unmarshal([]byte(r.ResourceID), &ref) // written by claim
	return ref
}

// claim takes the keys of a request for what it starts.
func claim(tx core.Tx, id string, keys []string, ref core.RunRef, now time.Time) error {
	resource, err := json.Marshal(ref)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := tx.ClaimIdempotency(&core.IdempotencyClaim{Scope: scopeOf(id), Key: key}, string(resource), now); err != nil {
			return err
		}
	}
	return nil
}

// wants reports whether a trigger is for an event. GitHub's ping, which says that the hook is there, starts nothing
// unless it is asked for.
func wants(t *core.Trigger, event string) bool {
	if len(t.Events) == 0 {
		return t.Scheme != wire.SchemeGitHub || event != "ping"
	}
	return slices.Contains(t.Events, event)
}

// targetFor makes the target of a request.
func targetFor(t *core.Trigger, p *proof, raw []byte, header func(string) string) (core.Target, error) {
	body, err := decode(raw)
	if err != nil {
		return core.Target{}, err
	}
	from := core.Metadata{core.KeyTrigger: t.ID}
	if p.delivery != "" {
		from["deliveryId"] = p.delivery
	}
	tags := core.Metadata{}
	out := t.Target
	if out.Execution != nil {
		x := *out.Execution
		if x.Input, err = input(t, body, header); err != nil {
			return out, err
		}
		maps.Copy(tags, x.Options.Metadata)
		maps.Copy(tags, from)
		x.Options.Metadata = tags
		out.Execution = &x
	}
	if out.Thread != nil {
		x := *out.Thread
		maps.Copy(tags, x.Metadata)
		maps.Copy(tags, from)
		x.Metadata, x.Objective = tags, objective(t, body, header)
		x.Preparation.ContextFiles = append(slices.Clip(x.Preparation.ContextFiles), wire.TargetFile{Path: BodyPath, Content: string(bytes.ToValidUTF8(raw, []byte("?")))})
		out.Thread = &x
	}
	return out, nil
}

// BodyPath is the file in the workspace of a thread that holds the body of the request.
const BodyPath = ".wardroom/trigger.json"

// start starts the target for a request, whose turn it is.
func (s *Service) start(ctx context.Context, e *entry, p *proof, keys []string, r core.TriggerRequest) (core.RunRef, error) {
	ctx, done := context.WithTimeout(ctx, startTime)
	defer done()
	who, err := s.opts.Launcher.Principal(ctx, e.rec.Principal)
	if err != nil {
		return core.RunRef{}, err
	}
	target, err := targetFor(&e.rec.Trigger, p, r.Body, canonical(r.Header))
	if err != nil {
		return core.RunRef{}, err
	}
	env, err := s.env(e.rec)
	if err != nil {
		return core.RunRef{}, err
	}
	var written *core.TriggerRecord
	ref, err := s.opts.Launcher.Launch(core.WithPrincipal(ctx, who), target, env, func(tx core.Tx, ref core.RunRef) error {
		now := s.opts.Clock.Now().UTC()
		next := *e.rec
		next.BlockedReason = ""
		next.Counts.Started++
		note(&next, core.TriggerRun{At: now, Outcome: wire.TriggerStarted, Delivery: p.delivery, Event: p.event, RunRef: ref})
		if err := claim(tx, next.ID, keys, ref, now); err != nil {
			return err
		}
		written = &next
		return s.put(tx, e, &next, e.secrets, core.EventTriggerRun, next.Runs[0], now)
	})
	if err != nil {
		return core.RunRef{}, err
	}
	e.rec = written
	return ref, nil
}

// canonical has headers found whatever the case of their names.
func canonical(header func(string) string) func(string) string {
	return func(name string) string { return header(textproto.CanonicalMIMEHeaderKey(name)) }
}

// note puts a run into the history of a record.
func note(r *core.TriggerRecord, run core.TriggerRun) {
	run.Reason, r.BlockedReason = clip.Marked(run.Reason, maxReason, "..."), clip.Marked(r.BlockedReason, maxReason, "...")
	r.Runs = append([]core.TriggerRun{run}, r.Runs[:min(len(r.Runs), maxRuns-1)]...)
}

// errStale is the cause of a write whose entry was loaded before the outcome of the one before was known.
var errStale = errors.New("the trigger was changed")

// put writes the next state of an entry with an event about it, and has it shown once it is stored. The turn of the entry is held.
// CONFLICT where what e.rec was made of is not what is stored.
func (s *Service) put(tx core.Tx, e *entry, next *core.TriggerRecord, secrets []secret, kind core.EventType, data any, now time.Time) error {
	s.mu.Lock()
	stale := e.shown.rec != e.rec
	s.mu.Unlock()
	if stale {
		return core.Conflict("trigger", next.ID, "", "the trigger was changed meanwhile; look at it and try again").WithCause(errStale)
	}
	if _, err := tx.FindTriggerRecord(next.ID); err != nil {
		return err
	}
	if err := tx.PutTrigger(next); err != nil {
		return err
	}
	tx.AfterCommit(func() { s.show(e, next, secrets) })
	return appendEvent(tx, next.ID, kind, data, now)
}

// show makes the stored state of an entry known.
func (s *Service) show(e *entry, rec *core.TriggerRecord, secrets []secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if former := e.shown.rec.Name; former != rec.Name && s.names[former] == rec.ID {
		delete(s.names, former)
	}
	s.names[rec.Name] = rec.ID
	e.shown = &snapshot{rec, secrets}
}

func appendEvent(tx core.Tx, id string, kind core.EventType, data any, now time.Time) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return tx.Append(core.Event{Type: kind, Time: now, Subject: id, Data: raw})
}

// block notes a request that was refused for a right, and tells when that is new.
func (s *Service) block(ctx context.Context, e *entry, p *proof, cause *core.Error) {
	fresh := e.rec.BlockedReason == "" || e.unsaid
	ok := s.write(ctx, e, func(next *core.TriggerRecord, now time.Time) {
		next.BlockedReason = cause.Message
		next.Counts.Blocked++
		note(next, core.TriggerRun{At: now, Outcome: wire.TriggerBlocked, Delivery: p.delivery, Event: p.event, Reason: cause.Message, Code: cause.Code})
	})
	e.unsaid = fresh && !ok // it may be stored all the same
	if ok && fresh {
		s.opts.Alert(e.rec.ID, fmt.Sprintf("trigger %s is blocked: %s", e.rec.Name, cause.Message), map[string]any{
			"triggerId": e.rec.ID, "name": e.rec.Name, "target": e.rec.Target.Name(), "code": string(cause.Code), "runsAs": e.rec.Principal.ID,
		})
	}
}

// fail notes a request that could not be started.
func (s *Service) fail(ctx context.Context, e *entry, p *proof, cause *core.Error) {
	s.log.Info("a request to a trigger started nothing", "trigger", e.rec.ID, "delivery", p.delivery, "error", cause)
	if cause.Unavailable {
		return // nothing can be written now, and the sender comes back
	}
	s.write(ctx, e, func(next *core.TriggerRecord, now time.Time) {
		next.Counts.Failed++
		note(next, core.TriggerRun{At: now, Outcome: wire.TriggerFailed, Delivery: p.delivery, Event: p.event, Reason: cause.Message, Code: cause.Code})
	})
}

// write stores what change makes of an entry's record, and reports whether it did. What is lost is a line of the history.
func (s *Service) write(ctx context.Context, e *entry, change func(next *core.TriggerRecord, now time.Time)) bool {
	now := s.opts.Clock.Now().UTC()
	next := *e.rec
	change(&next, now)
	err := s.store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		return s.put(tx, e, &next, e.secrets, core.EventTriggerRun, next.Runs[0], now)
	})
	if err != nil {
		s.log.Warn("what became of a request to a trigger was not written", "trigger", e.rec.ID, "error", err)
		return false
	}
	e.rec = &next
	return true
}

// env returns the environment that the threads of a record get.
func (s *Service) env(r *core.TriggerRecord) (map[string]string, error) {
	if len(r.SealedEnv) == 0 {
		return nil, nil
	}
	var env map[string]string
	if !s.box.Open(r.ID+"/env", r.SealedEnv, &env) {
		return nil, core.Conflict("trigger", r.ID, "", "the environment of the thread cannot be read any more: the key that sealed it "+
			"(triggers.key) was replaced; give the target again")
	}
	return env, nil
}

// TryTrigger implements core.TriggerService.
func (s *Service) TryTrigger(ctx context.Context, id, event string, body []byte) (*core.TriggerTrial, error) {
	_, t := s.peek(id)
	if t == nil {
		return nil, core.NotFound("trigger", id)
	}
	none := func(string) string { return "" }
	target, err := targetFor(&t.rec.Trigger, &proof{}, body, none)
	if err != nil {
		return nil, err
	}
	if !wants(&t.rec.Trigger, event) {
		return &core.TriggerTrial{Outcome: wire.TriggerIgnored}, nil
	}
	if err := s.opts.Launcher.CheckTarget(ctx, target); err != nil {
		return nil, err
	}
	out := &core.TriggerTrial{Outcome: wire.TriggerStarted}
	if target.Execution != nil {
		out.Input = target.Execution.Input
	} else {
		out.Objective = target.Thread.Objective
	}
	return out, nil
}
