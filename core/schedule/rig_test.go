package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/schedule"
	"github.com/wardroom/wardroom/core/storetest"
	"github.com/wardroom/wardroom/sdk/wire"
)

var (
	ctx     = context.Background()
	errGone = core.Unavailable("store_failed", "the disk is gone")
	ann     = core.Principal{Kind: core.PrincipalAPIKey, ID: "ann", KeyID: "key_1", Scopes: []string{core.ScopeExecute}}
)

// launcher starts executions that are nothing but records, in the store that the schedules are in.
type launcher struct {
	store *storetest.Memory
	ids   core.IDs
	clock core.Clock

	mu       sync.Mutex                                     // guards all below
	refuse   error                                          // of starts
	hold     func(ctx context.Context, t core.Target) error // what a start waits for; may be nil
	revoked  bool                                           // the credential of everyone
	env      map[string]string
	by       []string // who started something
	canceled []core.RunRef
}

func (l *launcher) Principal(_ context.Context, r core.PrincipalRecord) (core.Principal, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revoked {
		return core.Principal{}, core.Errorf(core.CodeUnauthorized, "the credential is revoked")
	}
	return r.Principal(), nil
}

func (l *launcher) CheckTarget(ctx context.Context, t core.Target) error {
	if t.Execution != nil && t.Execution.Pattern == "secret" && core.PrincipalFrom(ctx).ID != "ann" {
		return core.Forbidden("executions.create", "", "the pattern is not open to the caller")
	}
	return nil
}

func (l *launcher) Launch(ctx context.Context, t core.Target, env map[string]string, along core.AlongFunc) (core.RunRef, error) {
	l.mu.Lock()
	err, hold := l.refuse, l.hold
	l.env = env
	l.mu.Unlock()
	if hold != nil {
		err = hold(ctx, t)
	}
	if err != nil {
		return core.RunRef{}, err
	}
	now := l.clock.Now().UTC()
	e := &core.Execution{
		ID: l.ids.New(core.PrefixExecution), Pattern: core.PatternRef{Name: "p", Version: "1.0.0"}, Status: core.ExecutionRunning, Input: []byte("{}"),
		CreatedBy: core.PrincipalFrom(ctx).ID, CreatedAt: now, StartedAt: &now, Deadline: now.Add(time.Hour), Hash: "h",
	}
	if t.Execution != nil {
		e.Options = t.Execution.Options
	}
	ref := core.RunRef{ExecutionID: e.ID}
	err = l.store.Update(ctx, func(tx core.Tx) error {
		if err := tx.ClaimIdempotency(core.IdempotencyFrom(ctx), e.ID, now); err != nil {
			return err
		}
		if err := along(tx, ref); err != nil {
			return err
		}
		return tx.PutExecution(e)
	})
	if err != nil {
		return core.RunRef{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by = append(l.by, e.CreatedBy)
	return ref, nil
}

func (l *launcher) Over(ctx context.Context, ref core.RunRef) (bool, error) {
	e, err := l.store.FindExecution(ctx, ref.ExecutionID)
	if core.ErrorCode(err) == core.CodeNotFound {
		return true, nil
	}
	return err == nil && e.Status.Terminal(), err
}

func (l *launcher) Cancel(_ context.Context, ref core.RunRef, _ string) error {
	l.mu.Lock()
	l.canceled = append(l.canceled, ref)
	l.mu.Unlock()
	return l.end(ref.ExecutionID, core.ExecutionCancelled)
}

// end ends an execution.
func (l *launcher) end(id string, status core.ExecutionStatus) error {
	return l.store.Update(ctx, func(tx core.Tx) error {
		e, err := tx.FindExecution(id)
		if err != nil {
			return err
		}
		next := *e
		now := l.clock.Now().UTC()
		next.Status, next.CompletedAt = status, &now
		return tx.PutExecution(&next)
	})
}

func (l *launcher) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// rig is a service over a store in memory.
type rig struct {
	tb     testing.TB
	store  *storetest.Memory
	clock  *coretest.Clock
	launch *launcher
	opts   schedule.Options
	*schedule.Service

	mu     sync.Mutex // guards alerts
	alerts []string
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	r := &rig{tb: tb, store: storetest.NewMemory(tb), clock: coretest.NewStepClock()}
	ids := core.NewIDs(r.clock)
	r.launch = &launcher{store: r.store, ids: ids, clock: r.clock}
	r.opts = schedule.Options{
		Store: r.store, Clock: r.clock, IDs: ids, Launcher: r.launch, SealKey: [32]byte{1},
		Alert: func(_, message string, _ map[string]any) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.alerts = append(r.alerts, message)
		},
	}
	r.open()
	tb.Cleanup(func() { r.Close() })
	return r
}

func (r *rig) open() {
	r.tb.Helper()
	r.Service = schedule.New(r.opts)
	if err := r.Open(ctx); err != nil {
		r.tb.Fatal(err)
	}
}

// restart ends the service, has time pass without it, and opens another over the same store.
func (r *rig) restart(away time.Duration) {
	r.tb.Helper()
	r.Close()
	r.clock.Advance(away)
	r.open()
}

// create makes a schedule of ann's with a tick each minute, unless change says otherwise.
func (r *rig) create(change func(s *core.ScheduleSpec)) *core.Schedule {
	r.tb.Helper()
	spec := core.ScheduleSpec{Name: "test", Cron: "* * * * *", Overlap: wire.OverlapAllow, Target: core.Target{Execution: &core.ExecutionTarget{Pattern: "p"}}}
	if change != nil {
		change(&spec)
	}
	s, err := r.CreateSchedule(core.WithPrincipal(ctx, ann), spec)
	if err != nil {
		r.tb.Fatal(err)
	}
	return s
}

func (r *rig) get(id string) *core.Schedule {
	r.tb.Helper()
	s, err := r.FindSchedule(ctx, id)
	if err != nil {
		r.tb.Fatal(err)
	}
	return s
}

// pass has time pass in steps that the loop can follow.
func (r *rig) pass(d time.Duration) {
	r.tb.Helper()
	step := time.Second
	if d >= time.Minute {
		step = 5 * time.Second
	}
	for ; d > 0; d -= step {
		r.settle()
		r.clock.Advance(min(d, step))
	}
	r.settle()
}

// step sets the clock, and has just so much time pass that the loop notices.
func (r *rig) step(d time.Duration) {
	r.tb.Helper()
	r.clock.Step(d)
	coretest.WaitFor(r.tb, "the loop to wait", func() bool { return r.clock.Pending() > 0 })
	r.clock.Advance(5 * time.Second)
	r.settle()
}

// settle waits until nothing is due.
func (r *rig) settle() {
	r.tb.Helper()
	coretest.WaitFor(r.tb, "nothing to be due", func() bool { return r.clock.Pending() > 0 && r.Idle() })
}

// outcomes are what became of a schedule's last ticks, oldest first, as minutes and words.
func (r *rig) outcomes(id string) string {
	text := ""
	runs := r.get(id).Runs
	for i := len(runs) - 1; i >= 0; i-- {
		run := runs[i]
		at := "hand"
		if run.Tick != nil {
			at = run.Tick.UTC().Format("15:04")
		}
		word := string(run.Outcome)
		if run.Late {
			word = "late"
		}
		if run.Count > 0 {
			word += fmt.Sprint(run.Count)
		}
		text += " " + at + "=" + word
	}
	if text == "" {
		return text
	}
	return text[1:]
}

func (r *rig) wants(id, want string) {
	r.tb.Helper()
	if got := r.outcomes(id); got != want {
		r.tb.Fatalf("outcomes\n got %s\nwant %s", got, want)
	}
}

// executions are all that were started, with the tick in their metadata, which is unique.
func (r *rig) executions() map[string]int {
	r.tb.Helper()
	ticks := map[string]int{}
	for filter := (core.ExecutionFilter{Page: core.Page{Limit: core.MaxPageLimit}}); ; {
		list, info, err := r.store.FindExecutions(ctx, filter)
		if err != nil {
			r.tb.Fatal(err)
		}
		for _, row := range list {
			e, err := r.store.FindExecution(ctx, row.ID)
			if err != nil {
				r.tb.Fatal(err)
			}
			ticks[fmt.Sprint(e.Options.Metadata["scheduledAt"])]++
		}
		if !info.HasMore {
			return ticks
		}
		filter.Cursor = info.NextCursor
	}
}

func wantCode(tb testing.TB, err error, want core.Code) {
	tb.Helper()
	if got := core.ErrorCode(err); got != want || errors.Is(err, context.Canceled) {
		tb.Fatalf("got error %v, want code %s", err, want)
	}
}
