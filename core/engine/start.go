package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/sanitize"
)

// maxComposition is how deep patterns may be composed into each other.
const maxComposition = 16

// origin says where a new execution comes from, beside the request itself.
type origin struct {
	batchID    string
	batchIndex int
	retryOf    string
	rerunFrom  string
	kept       []core.Event                      // journal entries taken over from the execution that is rerun
	extra      func(tx core.Tx, id string) error // written with the execution, or nil
	unbounded  bool                              // the queue's bound does not apply
	patient    bool                              // a commit whose outcome is in doubt is waited for
	hash       string                            // of a retry: the definition that the original pinned
	pins       map[string]string
	ref        core.PatternRef
}

// Start implements core.ExecutionService.
func (e *Engine) Start(ctx context.Context, req core.ExecuteRequest) (*core.Execution, error) {
	r, err := e.begin(ctx, req, origin{})
	if err != nil {
		return nil, err
	}
	return r.first, nil
}

// started is a run that was stored, with its record as it was stored first.
type started struct {
	*run
	first *core.Execution
}

// begin checks a request, stores the execution and sets it going.
func (e *Engine) begin(ctx context.Context, req core.ExecuteRequest, from origin) (*started, error) {
	exec, plan, err := e.prepare(ctx, req, from)
	if err != nil {
		return nil, err
	}
	r := e.newRun(exec, plan)
	r.sync = req.RequireAgents
	if len(from.kept) > 0 {
		r.team.replay(from.kept, e.agents.AgentName)
		if err = r.body.restore(from.kept); err != nil {
			return nil, err
		}
	}
	if req.RequireAgents {
		if err := r.body.requireAgents(ctx); err != nil {
			return nil, err
		}
	}
	if err := e.register(r, !from.unbounded); err != nil {
		if core.ErrorCode(err) == core.CodeRateLimited {
			e.observer.QueueRefused()
		}
		return nil, err
	}
	c := r.newChange()
	for _, ev := range from.kept {
		ev.Subject, ev.Seq, ev.Time = exec.ID, 0, c.now
		c.events = append(c.events, ev)
	}
	c.put = true
	claim := core.IdempotencyFrom(ctx)
	c.extra = func(tx core.Tx) error {
		if err := tx.ClaimIdempotency(claim, exec.ID, c.now); err != nil {
			return err
		}
		if err := core.Along(ctx, tx, core.RunRef{ExecutionID: exec.ID}); err != nil || from.extra == nil {
			return err
		}
		return from.extra(tx, exec.ID)
	}
	r.body.advance(c)
	if exec.Status == core.ExecutionPending {
		c.causedBy(exec.CreatedBy, func() { r.event(c, core.EventExecutionQueued, queuedData{}) })
	}
	first := *exec
	if ctx.Done() != nil { // the work is begun or it is not, whether the caller waits or not
		ctx = context.WithoutCancel(ctx)
	}
	switch err = r.write(ctx, c); {
	case err == nil:
		r.setOff(c)
	case !errors.Is(err, core.ErrInDoubt):
		r.undo(c)
		return nil, err
	case !from.patient: // the caller hears of it now; what is stored is not left where it is
		if !e.later(func() { r.settle(c) }) {
			r.undo(c)
		}
		return nil, err
	case !r.settle(c):
		return nil, err
	}
	return &started{run: r, first: &first}, nil
}

// setOff has a run go on that was stored first.
func (r *run) setOff(c *change) {
	r.eng.observer.ExecutionStarted(r.exec.Pattern.Name)
	r.apply(c)
	if !c.over {
		r.eng.launch(r, nil)
	}
}

// settle sets a run off, or undoes it, whose first commit is in doubt, once it is known whether it is stored.
func (r *run) settle(c *change) (stored bool) {
	stored, ok := r.eng.landed(c.events[0])
	switch {
	case stored:
		r.setOff(c)
	case ok:
		r.undo(c)
	default:
		r.abandon()
	}
	return stored
}

// undo gives back what a run took that could not be stored.
func (r *run) undo(c *change) {
	e := r.eng
	e.pace.undo(r.youth)
	r.body.undo(c)
	if r.slot || c.freeSlot {
		e.limits.give(r.exec.Pattern.Name)
	}
	e.unregister(r)
	e.waiters.kick() // others may have found full what was taken for a moment
	for _, m := range r.inbox.close() {
		if m.reply != nil {
			m.reply <- cancelReply{err: core.NotFound("execution", r.exec.ID)}
		}
	}
}

// prepare resolves the pattern, checks options and input, and makes the record.
func (e *Engine) prepare(ctx context.Context, req core.ExecuteRequest, from origin) (*core.Execution, core.Plan, error) {
	config := e.config.Load()
	var plan core.Plan
	var err error
	hash, ref, pins := from.hash, from.ref, from.pins
	if hash != "" {
		if plan, err = e.patterns.Plan(ctx, hash); err != nil {
			return nil, nil, err
		}
	} else {
		var pattern *core.Pattern
		if pattern, plan, err = e.patterns.Resolve(ctx, req.Pattern, req.Version); err != nil {
			return nil, nil, err
		}
		hash, ref = pattern.Hash, core.PatternRef{Name: pattern.Name, Version: pattern.Version}
		if pins, err = e.pin(ctx, plan, nil, []string{pattern.Name}); err != nil {
			return nil, nil, err
		}
	}
	if err := mayRun(core.PrincipalFrom(ctx), ref.Name, plan.Definition()); err != nil {
		return nil, nil, err
	}
	timeout, err := checkOptions(req.Options, plan.Definition(), config)
	if err != nil {
		return nil, nil, err
	}
	if config.RequireConsent {
		if err := core.CheckConsent(req.Options.Metadata, "options.metadata"); err != nil {
			return nil, nil, err
		}
	}
	given, sanitized, err := sanitizeInput(req.Input, config)
	if err != nil {
		return nil, nil, err
	}
	input, err := plan.CheckInput(given)
	if err != nil {
		return nil, nil, err
	}
	now := e.clock.Now()
	exec := &core.Execution{
		ID: e.ids.New(core.PrefixExecution), Pattern: ref, Hash: hash, Pins: pins,
		Status: core.ExecutionPending, Input: input, Options: req.Options,
		CreatedBy: core.PrincipalFrom(ctx).ID, CreatedAt: now, Deadline: now.Add(timeout),
		BatchID: from.batchID, BatchIndex: from.batchIndex, RetryOf: from.retryOf, RerunFrom: from.rerunFrom,
		Chart: plan.OrgChart() != nil, Sanitized: sanitized,
	}
	e.placeInTrace(exec, core.TraceFrom(ctx))
	return exec, plan, nil
}

// sanitizeInput takes out of the texts of an input what config says, and tells of which. VALIDATION_ERROR.
func sanitizeInput(input json.RawMessage, config *Config) (json.RawMessage, []core.SanitizedField, error) {
	clean, changes, err := sanitize.JSON(input, "input", sanitize.Options{HTML: config.SanitizeHTML, Scripts: config.SanitizeScripts})
	if err != nil {
		return nil, nil, core.Invalid("input", "%s; security.inputValidation.sanitize takes HTML out of texts, but not out of names", err)
	}
	return clean, changes, nil
}

// checkOptions validates execute options, all problems at once, and returns the execution's time limit.
func checkOptions(o core.ExecuteOptions, d *core.Definition, config *Config) (time.Duration, error) {
	var problems []core.Problem
	timeout := time.Duration(o.TimeoutMs) * time.Millisecond
	switch {
	case o.TimeoutMs < 0:
		problems = append(problems, core.Problem{Path: "options.timeout", Reason: "must be a positive number of milliseconds"})
	case o.TimeoutMs > config.MaxTimeout.Milliseconds():
		problems = append(problems, core.Problem{Path: "options.timeout",
			Reason: fmt.Sprintf("must be at most %d ms", config.MaxTimeout.Milliseconds())})
	case o.TimeoutMs == 0 && d.Timeout > 0:
		timeout = min(d.Timeout, config.MaxTimeout)
	case o.TimeoutMs == 0:
		timeout = config.DefaultTimeout
	}
	if o.Priority != "" && !slices.Contains(core.Priorities, o.Priority) {
		problems = append(problems, core.Problem{Path: "options.priority",
			Reason: fmt.Sprintf("must be one of low, normal, high, critical; got %q", o.Priority)})
	}
	return timeout, core.InvalidAll("invalid options", problems)
}

func pinKey(c *core.Composition) string { return c.Name + "@" + c.Range }

// pin fixes the versions of every pattern composed into plan, at any depth.
func (e *Engine) pin(ctx context.Context, plan core.Plan, pins map[string]string, path []string) (map[string]string, error) {
	for i := range plan.Definition().Steps {
		c := plan.Definition().Steps[i].Compose
		if c == nil {
			continue
		}
		if slices.Contains(path, c.Name) {
			return nil, core.Invalid("pattern", "patterns compose each other in a circle: %s", strings.Join(append(path, c.Name), " > "))
		}
		if len(path) >= maxComposition {
			return nil, core.Invalid("pattern", "patterns are composed more than %d deep: %s", maxComposition, strings.Join(path, " > "))
		}
		pattern, inner, err := e.patterns.Resolve(ctx, c.Name, c.Range)
		if err != nil {
			if core.ErrorCode(err) == core.CodeNotFound {
				return nil, core.Invalid(fmt.Sprintf("steps[%d].pattern", i), "pattern %q, which the step runs, does not exist", pinKey(c))
			}
			return nil, err
		}
		if inner.OrgChart() != nil {
			return nil, core.Invalid(fmt.Sprintf("steps[%d].pattern", i),
				"pattern %q, which the step runs, is an org chart; only flat patterns can be steps of a pattern", pinKey(c))
		}
		if err := mayRun(core.PrincipalFrom(ctx), pattern.Name, inner.Definition()); err != nil {
			return nil, err
		}
		if pins == nil {
			pins = map[string]string{}
		}
		pins[pinKey(c)] = pattern.Hash
		if pins, err = e.pin(ctx, inner, pins, append(slices.Clip(path), c.Name)); err != nil {
			return nil, err
		}
	}
	return pins, nil
}

// requireAgents implements body: the first step counts.
func (r *flat) requireAgents(ctx context.Context) error {
	e := r.eng
	plan := r.plan
	for {
		step := &plan.Definition().Steps[0]
		if step.Compose == nil {
			if available := e.agents.CountCapable(step.Need); available < max(step.Min, 1) {
				return noAgents(step, available)
			}
			return nil
		}
		inner, err := e.patterns.Plan(ctx, r.exec.Pins[pinKey(step.Compose)])
		if err != nil {
			return err
		}
		plan = inner
	}
}

// detached returns the context of work that no caller waits for: it does not end with a request.
func (e *Engine) detached() context.Context { return context.Background() }

// isJSONObject reports whether raw holds an object, leading white space aside.
func isJSONObject(raw json.RawMessage) bool {
	for _, b := range raw {
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return b == '{'
	}
	return false
}
