package appliance

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/audit"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/kv/memory"
	sinks "github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/wire"
)

// lateSink takes nothing until it is up.
type lateSink struct {
	up  atomic.Bool
	got atomic.Uint64
}

func (s *lateSink) Open(context.Context, uint64) (uint64, error) { return s.got.Load(), s.down() }

func (s *lateSink) down() error {
	if !s.up.Load() {
		return sinks.Errorf(sinks.CodeUnavailable, "away")
	}
	return nil
}

func (s *lateSink) Write(_ context.Context, batch []sinks.Record) (uint64, error) {
	if err := s.down(); err != nil {
		return 0, err
	}
	s.got.Store(batch[len(batch)-1].Sequence)
	return s.got.Load(), nil
}

func (s *lateSink) Flush(context.Context) (uint64, error) { return s.got.Load(), s.down() }

// dataRetention removes what it says, when it says so, and of the trail nothing that a sink still needs.
func TestDataRetention(t *testing.T) {
	c, err := config.Parse([]config.File{{Name: "wardroom.yaml", Data: []byte(
		"security:\n  authentication: {apiKeys: {enabled: true}}\n  audit: {enabled: true, mode: blocking, retention: 365d}\n" +
			"  compliance: {gdpr: {enabled: true, dataRetention: {executionData: 10d, auditLogs: 20d}}}\n")}}, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	policy := Retention(c)
	if policy.Executions != 10*day || policy.Events != 10*day || policy.Batches != 10*day || policy.Deliveries != 10*day || memoryConfig(c).MaxAge != 10*day {
		t.Errorf("%+v, experiences %v", policy, memoryConfig(c).MaxAge)
	}
	ctx, clock := t.Context(), coretest.NewStepClock()
	ids := core.NewIDs(clock)
	trail := audit.New(audit.Options{Clock: clock, IDs: ids, Key: ed25519.NewKeyFromSeed(make([]byte, 32)), Config: auditConfig(c)})
	s, err := store.OpenOn(ctx, memory.New(), store.Options{Clock: clock, Audit: trail.Hook})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	trail.Open(s, []string{"late"})
	defer trail.Close()
	late := new(lateSink)
	trail.Deliver(func(string) sinks.Sink { return late })

	done := clock.Now()
	execution, thread, batch := ids.New(core.PrefixExecution), ids.New(core.PrefixThread), ids.New(core.PrefixBatch)
	running := ids.New(core.PrefixExecution)
	intent := &core.AuditIntent{AuditEntry: core.AuditEntry{
		Category: wire.AuditExecutions, Action: "executions.create", Outcome: wire.AuditSuccess,
		Actor: wire.AuditActor{Type: "user", ID: "ann"}, Resource: wire.AuditResource{Type: "executions", ID: execution},
	}}
	err = s.Update(core.WithAuditIntent(ctx, intent), func(tx core.Tx) error {
		return errors.Join(
			tx.PutExecution(&core.Execution{ID: execution, Status: core.ExecutionCompleted, CreatedAt: done, CompletedAt: &done}),
			tx.PutExecution(&core.Execution{ID: running, Status: core.ExecutionRunning, CreatedAt: done}),
			tx.PutThread(&core.ThreadRecord{Thread: core.Thread{ID: thread, ExecutionID: execution, Status: core.ThreadCompleted, CreatedAt: done}}),
			tx.PutBatch(&core.Batch{ID: batch, Status: core.BatchCompleted, CreatedAt: done, CompletedAt: &done}),
			tx.Append(core.Event{ID: "evt_1", Type: core.EventExecutionCompleted, Subject: execution, Time: done, Data: []byte("{}")}),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	there := func() string {
		t.Helper()
		found := ""
		for name, find := range map[string]func() error{
			"execution": func() error { _, err := s.FindExecution(ctx, execution); return err },
			"thread":    func() error { _, err := s.FindThread(ctx, thread); return err },
			"batch":     func() error { _, err := s.FindBatch(ctx, batch); return err },
		} {
			switch err := find(); {
			case err == nil:
				found += name + " "
			case core.ErrorCode(err) != core.CodeNotFound:
				t.Fatal(err)
			}
		}
		return found
	}
	clock.Advance(9 * day)
	if got, err := s.Retain(ctx, policy); err != nil || got.Executions+got.Batches != 0 {
		t.Fatalf("after 9 days: %+v, %v", got, err)
	}
	clock.Advance(day + time.Hour)
	if got, err := s.Retain(ctx, policy); err != nil || got.Executions != 1 || got.Batches != 1 {
		t.Fatalf("after 10 days: %+v, %v", got, err)
	}
	if left := there(); left != "" {
		t.Errorf("left: %s", left)
	}
	if _, err := s.FindExecution(ctx, running); err != nil {
		t.Errorf("the one that runs: %v", err)
	}

	for range 40 { // well beyond 20 days
		clock.Advance(day)
		if err := trail.Record(ctx, core.AuditEntry{Category: wire.AuditAdmin, Action: "keys.create", Outcome: wire.AuditSuccess, Actor: wire.AuditActor{Type: "user", ID: "ann"}, Resource: wire.AuditResource{Type: "keys"}}); err != nil {
			t.Fatal(err)
		}
	}
	if head := s.AuditHead(); head.First != 1 {
		t.Fatalf("the trail begins with %d, and a sink has nothing", head.First)
	}
	late.up.Store(true)
	coretest.WaitFor(t, "the old records to go once the sink has them", func() bool {
		clock.Advance(time.Hour)
		return s.AuditHead().First > 1
	})
	page, err := trail.FindAudit(ctx, core.AuditFilter{Until: clock.Now().Add(-21*day - 2*time.Hour), Limit: 5})
	if err != nil || len(page.Records) > 0 {
		t.Errorf("older than 20 days and a day: %+v, %v", page, err)
	}
	page, err = trail.FindAudit(ctx, core.AuditFilter{Action: "keys.create", Limit: 100})
	if err != nil || len(page.Records) == 0 || clock.Now().Sub(page.Records[len(page.Records)-1].Timestamp) < 18*day {
		t.Errorf("younger ones went too: %s", fmt.Sprint(len(page.Records), err))
	}
}

// Experiences that are older than they are kept are evidence against retention; one that was made again is not old.
func TestOldExperiences(t *testing.T) {
	ctx, clock := t.Context(), coretest.NewClock()
	ids := core.NewIDs(clock)
	s, err := store.OpenOn(ctx, memory.New(), store.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	a := &App{store: s, clock: clock}
	const keep = 10 * 24 * time.Hour
	put := func(again bool) {
		t.Helper()
		made := clock.Now()
		e := core.Experience{Experience: wire.Experience{ID: ids.New(core.PrefixMemory), CreatedAt: made, Outcome: core.ExperienceSuccessful}}
		if again {
			later := made.Add(keep)
			e.UpdatedAt = &later
		}
		if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutExperience(&e) }); err != nil {
			t.Fatal(err)
		}
	}
	for want := range 2 {
		put(want == 0) // made again, then one that was not
		clock.Advance(time.Minute)
		for _, age := range []time.Duration{0, keep} {
			if old, err := a.oldExperiences(ctx, age); err != nil || old != 0 {
				t.Errorf("kept for %v: %d, %v", age, old, err)
			}
		}
	}
	clock.Advance(keep + retentionSlack)
	if old, err := a.oldExperiences(ctx, keep); err != nil || old != 1 {
		t.Errorf("of two, one of them made again: %d, %v", old, err)
	}
}
