package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of what a trigger holds.
const (
	maxName   = 100 // bytes
	maxRate   = 6000
	maxEvents = 100
	maxReason = 1024     // bytes of what is kept of an error
	maxTarget = 64 << 10 // bytes of JSON; the environment has as many
)

// CreateTrigger implements core.TriggerService.
func (s *Service) CreateTrigger(ctx context.Context, spec core.TriggerSpec) (*core.Trigger, error) {
	now := s.opts.Clock.Now().UTC()
	p := core.PrincipalFrom(ctx)
	r := &core.TriggerRecord{Trigger: core.Trigger{
		ID: s.opts.IDs.New(core.PrefixTrigger), Name: spec.Name, Scheme: cmp.Or(spec.Scheme, wire.SchemeWardroom), Enabled: !spec.Disabled,
		Events: spec.Events, Mapping: spec.Mapping, RatePerMinute: cmp.Or(spec.RatePerMinute, core.DefaultTriggerRate), Target: spec.Target,
		CreatedBy: p.ID, CreatedAt: now, UpdatedAt: now, Principal: core.RecordOf(p),
	}}
	secrets := []secret{{Text: cmp.Or(spec.Secret, newSecret())}}
	if err := s.check(ctx, r, secrets[0].Text, spec.Env); err != nil {
		return nil, err
	}
	var err error
	if r.Sealed, err = s.box.Seal(r.ID, secrets); err != nil {
		return nil, err
	}
	release, err := s.takeName(r.Name, r.ID)
	if err != nil {
		return nil, err
	}
	idempotency := core.IdempotencyFrom(ctx)
	err = s.store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		if err := tx.ClaimIdempotency(idempotency, r.ID, now); err != nil {
			return err
		}
		if !s.holds(r.Name, r.ID) {
			return core.Conflict("trigger", "", "", "another trigger has the name %q already", r.Name)
		}
		if err := tx.PutTrigger(r); err != nil {
			return err
		}
		tx.AfterCommit(func() { s.add(r, secrets) })
		return appendEvent(tx, r.ID, core.EventTriggerCreated, about(&r.Trigger, p.ID), now)
	})
	if err = s.outcome(err, func() bool { return s.entries[r.ID] != nil }); err != nil {
		release()
		return nil, err
	}
	s.log.Info("trigger created", "trigger", r.ID, "name", r.Name, "scheme", string(r.Scheme), "target", r.Target.Name(), "by", p.ID)
	return s.reveal(r, secrets), nil
}

// about returns the data of the events of a trigger.
func about(t *core.Trigger, by string) map[string]any {
	return map[string]any{"id": t.ID, "name": t.Name, "scheme": t.Scheme, "enabled": t.Enabled, "target": t.Target.Name(), "by": by}
}

// reveal is view with the newest secret.
func (s *Service) reveal(r *core.TriggerRecord, secrets []secret) *core.Trigger {
	out := s.view(r, secrets, true)
	out.Secret = secrets[0].Text
	return out
}

// takeName reserves a name for an id, and room for one more trigger if that is new. release gives both back.
func (s *Service) takeName(name, id string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	other, taken := s.names[name]
	switch {
	case taken && other == id:
		return func() {}, nil
	case taken:
		return nil, core.Conflict("trigger", other, "", "the trigger %s has the name %q already", other, name)
	case s.entries[id] == nil && len(s.names) >= maxTriggers:
		return nil, core.RateLimited(maxTriggers, 0, 0, "there are %d triggers, which is the limit; delete some that nobody uses", len(s.names))
	}
	s.names[name] = id
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if e := s.entries[id]; s.names[name] == id && (e == nil || e.shown.rec.Name != name) { // else it is stored meanwhile
			delete(s.names, name)
		}
	}, nil
}

// holds reports whether an id still has a name that it took: one whose outcome was in doubt may have turned out to have it.
func (s *Service) holds(name, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[name] == id
}

// outcome is doubt.Outcome for as long as the service is open. known reports, with mu held, whether it is stored, once the store takes writes.
func (s *Service) outcome(err error, known func() bool) error {
	return doubt.Outcome(s.ctx, s.opts.Clock, s.store, err, func(context.Context) (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return known(), nil
	}, pause.For)
}

// check seals the environment of a record, and returns all that is wrong with it for the principal of ctx.
func (s *Service) check(ctx context.Context, r *core.TriggerRecord, secretText string, env map[string]string) error {
	var problems []core.Problem
	wrong := func(bad bool, path, reason string) {
		if bad {
			problems = append(problems, core.Problem{Path: path, Reason: reason})
		}
	}
	wrong(r.Name == "" || len(r.Name) > maxName, "name", "must be 1 to 100 bytes")
	wrong(!utf8.ValidString(r.Name) || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsPrint(c) }) || strings.TrimSpace(r.Name) != r.Name,
		"name", "must be printable text without space around it")
	wrong(core.ValidID(core.PrefixTrigger, r.Name), "name", "must not look like the id of a trigger")
	wrong(!slices.Contains([]core.SignatureScheme{wire.SchemeWardroom, wire.SchemeGitHub, wire.SchemeGitLab}, r.Scheme), "scheme", "must be wardroom, github or gitlab")
	for _, reason := range secretProblems(secretText) {
		wrong(true, "secret", reason)
	}
	wrong(r.RatePerMinute < 1 || r.RatePerMinute > maxRate, "ratePerMinute", "must be from 1 to 6000")
	wrong(len(r.Events) > maxEvents, "events", "must be at most 100")
	for _, name := range r.Events {
		wrong(name == "" || len(name) > maxEvent || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }), "events", "must be names of 1 to 100 printable bytes")
	}
	wrong((r.Target.Execution == nil) == (r.Target.Thread == nil), "target", "must have one of execution and thread")
	wrong(r.Target.Thread == nil && len(env) > 0, "target", "has an environment without a thread")
	wrong(len(r.Mapping) > maxMapping, "mapping", "must have at most 100 fields")
	for _, field := range slices.Sorted(maps.Keys(r.Mapping)) {
		at := "mapping." + field
		_, err := parsePath(r.Mapping[field])
		if err != nil {
			wrong(true, at, err.Error())
		}
		wrong(field == "" || len(field) > maxName, "mapping", "must have names of 1 to 100 bytes")
		wrong(r.Target.Thread != nil && field != objectiveField, at, "is not a field of a thread; only objective can be mapped")
	}
	if r.Target.Execution != nil && len(r.Target.Execution.Input) > 0 {
		own, err := decode(r.Target.Execution.Input)
		wrong(err != nil, "target.execution.input", "must be a JSON object")
		for field := range own {
			_, both := r.Mapping[field]
			wrong(both, "mapping."+field, "is a field of target.execution.input already")
		}
	}
	text, err := json.Marshal(r.Target)
	wrong(err != nil, "target", "must be plain JSON")
	wrong(len(text) > maxTarget, "target", "must be at most 65536 bytes as JSON")
	hidden, err := json.Marshal(env)
	wrong(err != nil || len(hidden) > maxTarget, "target.thread.preparation.env", "must be at most 65536 bytes as JSON")
	if err := core.InvalidAll("trigger", problems); err != nil {
		return err
	}
	if err := s.checkTarget(ctx, r); err != nil {
		return err
	}
	if len(env) > 0 {
		if r.SealedEnv, err = s.box.Seal(r.ID+"/env", env); err != nil {
			return err
		}
	}
	return nil
}

// checkTarget returns why the principal of ctx could not start the target of a trigger. What its input will be is not known.
func (s *Service) checkTarget(ctx context.Context, r *core.TriggerRecord) error {
	target := r.Target
	if target.Execution != nil {
		x := *target.Execution
		x.Input, target.Execution = nil, &x
	}
	return s.opts.Launcher.CheckTarget(ctx, target)
}

// ownEnv refuses a change by somebody else than who gave the environment of a trigger's threads.
func ownEnv(r *core.TriggerRecord, p core.Principal) error {
	if len(r.SealedEnv) == 0 || r.Principal.ID == p.ID {
		return nil
	}
	return core.Invalid("target", "must be given again first, with its environment: that was given by %s, whose secrets nobody else may use", r.Principal.ID)
}

// secretProblems returns what is wrong with a secret.
func secretProblems(text string) (list []string) {
	if len(text) < minSecret || len(text) > maxSecret {
		list = append(list, "must be 16 to 1024 bytes")
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return c < 0x21 || c > 0x7e }) {
		list = append(list, "must be printable ASCII without spaces")
	}
	return list
}

// UpdateTrigger implements core.TriggerService.
func (s *Service) UpdateTrigger(ctx context.Context, id string, patch core.TriggerPatch) (*core.Trigger, error) {
	e, err := s.claimed(ctx, id)
	if err != nil {
		return nil, err
	}
	defer e.turn.Release()
	p := core.PrincipalFrom(ctx)
	next := *e.rec
	if patch.Target == nil {
		if err := ownEnv(&next, p); err != nil {
			return nil, err
		}
	}
	take(&next.Name, patch.Name)
	take(&next.Enabled, patch.Enabled)
	take(&next.Events, patch.Events)
	take(&next.Mapping, patch.Mapping)
	take(&next.RatePerMinute, patch.RatePerMinute)
	if patch.Target != nil {
		next.Target, next.SealedEnv = *patch.Target, nil
	}
	now := s.opts.Clock.Now().UTC()
	next.Principal, next.UpdatedAt, next.BlockedReason = core.RecordOf(p), now, ""
	if err := s.check(ctx, &next, strings.Repeat("x", minSecret), patch.Env); err != nil {
		return nil, err
	}
	release, err := s.takeName(next.Name, id)
	if err != nil {
		return nil, err
	}
	err = s.store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		if !s.holds(next.Name, id) {
			return core.Conflict("trigger", "", "", "another trigger has the name %q already", next.Name)
		}
		return s.put(tx, e, &next, e.secrets, core.EventTriggerUpdated, about(&next.Trigger, p.ID), now)
	})
	if err = s.outcome(err, func() bool { return e.shown.rec == &next }); err != nil {
		release()
		return nil, err
	}
	if next.RatePerMinute != e.rec.RatePerMinute {
		e.limit = limiter(next.RatePerMinute)
	}
	e.rec = &next
	s.log.Info("trigger changed", "trigger", id, "name", next.Name, "enabled", next.Enabled, "by", p.ID)
	return s.view(&next, e.secrets, true), nil
}

// take sets a field that is given.
func take[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// RotateTrigger implements core.TriggerService.
func (s *Service) RotateTrigger(ctx context.Context, id, text string, overlap time.Duration) (*core.Trigger, error) {
	if overlap < 0 || overlap > core.MaxTriggerOverlap {
		return nil, core.Invalid("overlap", "must be from 0 to 7 days")
	}
	text = cmp.Or(text, newSecret())
	if reasons := secretProblems(text); len(reasons) > 0 {
		return nil, core.Invalid("secret", "%s", reasons[0])
	}
	e, err := s.claimed(ctx, id)
	if err != nil {
		return nil, err
	}
	defer e.turn.Release()
	now := s.opts.Clock.Now().UTC()
	secrets := []secret{{Text: text}}
	if len(e.secrets) > 0 {
		former, until := e.secrets[0], now.Add(overlap)
		if former.Text == text && len(e.secrets) > 1 { // the request is sent again
			former = e.secrets[1]
		}
		if former.Until != nil && former.Until.Before(until) {
			until = *former.Until
		}
		if former.Text != text && now.Before(until) {
			secrets = append(secrets, secret{former.Text, &until})
		}
	}
	next := *e.rec
	// Whoever knows the secret decides what is started: with the rights of somebody else it would be worth as much.
	p := core.PrincipalFrom(ctx)
	if err := ownEnv(&next, p); err != nil {
		return nil, err
	}
	if err := s.checkTarget(ctx, &next); err != nil {
		return nil, err
	}
	next.Principal, next.UpdatedAt, next.BlockedReason = core.RecordOf(p), now, ""
	if next.Sealed, err = s.box.Seal(id, secrets); err != nil {
		return nil, err
	}
	by := p.ID
	err = s.store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		return s.put(tx, e, &next, secrets, core.EventTriggerUpdated, about(&next.Trigger, by), now)
	})
	if err = s.outcome(err, func() bool { return e.shown.rec == &next }); err != nil {
		return nil, err
	}
	e.rec, e.secrets = &next, secrets
	s.log.Info("trigger given another secret", "trigger", id, "name", next.Name, "overlap", overlap, "by", by)
	return s.reveal(&next, secrets), nil
}

// DeleteTrigger implements core.TriggerService.
func (s *Service) DeleteTrigger(ctx context.Context, id string) error {
	e, err := s.claimed(ctx, id)
	if err != nil {
		return err
	}
	defer e.turn.Release()
	by := core.PrincipalFrom(ctx).ID
	rec := e.rec
	err = s.store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		if err := tx.DeleteTrigger(id); err != nil {
			return err
		}
		tx.AfterCommit(func() { s.forget(rec) })
		return appendEvent(tx, id, core.EventTriggerDeleted, about(&rec.Trigger, by), s.opts.Clock.Now().UTC())
	})
	if err = s.outcome(err, func() bool { return s.entries[id] != e }); err != nil {
		return err
	}
	s.log.Info("trigger deleted", "trigger", id, "name", rec.Name, "by", by)
	return nil
}

// forget makes known that a trigger is deleted.
func (s *Service) forget(rec *core.TriggerRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, rec.ID)
	if s.names[rec.Name] == rec.ID {
		delete(s.names, rec.Name)
	}
}
