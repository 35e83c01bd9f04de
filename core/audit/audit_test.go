package audit_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/audit"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/storetest"
	sinks "github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/wire"
)

// rig is a service over a store.
type rig struct {
	*audit.Service
	t      testing.TB
	store  storetest.Audited
	clock  *coretest.Clock
	key    ed25519.PrivateKey
	config audit.Config
	logger hclog.Logger    // nil: nothing is logged
	fail   func(kept bool) // has the next commit fail, of a trail in memory

	mu     sync.Mutex // guards alerts
	alerts []string
}

func newRig(t testing.TB, dir string, names []string, change ...func(c *audit.Config)) *rig {
	t.Helper()
	return newLoggedRig(t, dir, names, nil, change...)
}

func newLoggedRig(t testing.TB, dir string, names []string, logger hclog.Logger, change ...func(c *audit.Config)) *rig {
	t.Helper()
	r := &rig{t: t, logger: logger, clock: coretest.NewStepClock(), key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)), config: audit.Config{
		Enabled: true, Level: audit.Standard, Events: wire.AuditCategories, Queue: 100,
	}}
	for _, f := range change {
		f(&r.config)
	}
	r.open(dir, names)
	return r
}

func (r *rig) open(dir string, names []string) {
	r.Service = audit.New(audit.Options{
		Clock: r.clock, IDs: core.NewIDs(r.clock), Key: r.key, Config: r.config, Logger: r.logger,
		Alert: func(_, message string, _ map[string]any) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.alerts = append(r.alerts, message)
		},
	})
	if dir == "" {
		r.store, r.fail = storetest.OpenFailing(r.t, r.clock, r.Hook)
	} else {
		r.store = storetest.OpenAudited(r.t, dir, r.clock, r.Hook)
	}
	r.Open(r.store, names)
	service, store := r.Service, r.store
	r.t.Cleanup(func() {
		service.Close()
		_ = store.Close()
	})
}

func (r *rig) alerted() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.alerts, "; ")
}

// intent is that of a request that makes an execution.
func intent() *core.AuditIntent {
	return &core.AuditIntent{
		AuditEntry: core.AuditEntry{
			Category: wire.AuditExecutions, Action: "executions.create", Outcome: wire.AuditSuccess,
			Actor:    wire.AuditActor{Type: "user", ID: "ann", IP: "10.0.0.1", UserAgent: "test"},
			Resource: wire.AuditResource{Type: "executions"}, Details: map[string]any{"inputSize": 12},
			Request: wire.AuditRequest{Method: "POST", Path: "/api/patterns/p/execute", RequestID: "req_1"},
		},
		IDPrefix: core.PrefixExecution,
	}
}

var executionID = core.NewIDs(core.SystemClock{}).New(core.PrefixExecution)

// execute puts an execution with the event of its end, on behalf of a request.
func (r *rig) execute(ctx context.Context) error {
	return r.store.Update(ctx, func(tx core.Tx) error {
		e := &core.Execution{ID: executionID, Status: core.ExecutionRunning}
		e.Pattern.Name, e.Pattern.Version = "p", "1.0.0"
		if err := tx.PutExecution(e); err != nil {
			return err
		}
		return tx.Append(core.Event{
			Type: core.EventExecutionFailed, Subject: executionID, Time: r.clock.Now(),
			Data: []byte(`{"pattern":{"name":"p","version":"1"},"duration":12,"agents":[{"id":"a"},{"id":"b"}],"error":{"code":"TIMEOUT","message":"secret"}}`),
		})
	})
}

func (r *rig) lines() [][]byte {
	r.t.Helper()
	var out bytes.Buffer
	if err := r.ExportAudit(context.Background(), time.Time{}, time.Time{}, "json", &out); err != nil {
		r.t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
}

func (r *rig) records() []*wire.AuditRecord {
	r.t.Helper()
	var list []*wire.AuditRecord
	for _, line := range r.lines() {
		if len(line) == 0 {
			continue
		}
		record, err := trail.Parse(line)
		if err != nil {
			r.t.Fatal(err)
		}
		list = append(list, record)
	}
	return list
}

// sound fails the test unless the whole trail is.
func (r *rig) sound() trail.Report {
	r.t.Helper()
	v := &trail.Verifier{Keys: []ed25519.PublicKey{r.key.Public().(ed25519.PublicKey)}, Whole: true}
	for _, line := range r.lines() {
		v.Add(line)
	}
	report := v.Report()
	if !report.OK {
		r.t.Fatalf("%+v", report.Findings)
	}
	return report
}

func TestTransactions(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, dir, nil)
	in := intent()
	ctx := core.WithAuditIntent(t.Context(), in)
	failed := errors.New("no")
	if err := r.store.Update(ctx, func(tx core.Tx) error {
		if err := tx.Append(core.Event{Type: core.EventSystemAlert, Time: r.clock.Now()}); err != nil {
			return err
		}
		return failed
	}); !errors.Is(err, failed) || len(r.records()) != 0 || in.Recorded.Load() {
		t.Fatalf("a transaction that failed left %d records: %v", len(r.records()), err)
	}
	if err := r.execute(ctx); err != nil {
		t.Fatal(err)
	}
	if err := r.execute(ctx); err != nil { // the request has its record
		t.Fatal(err)
	}
	list := r.records()
	if len(list) != 3 || !in.Recorded.Load() {
		t.Fatalf("%d records", len(list))
	}
	first, second := list[0], list[1]
	if first.Action != "executions.create" || first.Resource.ID != executionID || first.Actor.ID != "ann" || string(first.Details) != `{"inputSize":12}` ||
		!core.ValidID(core.PrefixAudit, first.EventID) {
		t.Errorf("%+v", first)
	}
	if second.Action != "executions.fail" || second.Outcome != wire.AuditFailure || second.Actor.ID != "system" ||
		string(second.Details) != `{"agentCount":2,"duration":12,"errorCode":"TIMEOUT","pattern":"p"}` {
		t.Errorf("%+v %s", second, second.Details)
	}
	r.Service.Close() // which signs
	if report := r.sound(); report.Signed != 3 || report.Checkpoints != 1 {
		t.Errorf("%+v", report)
	}
	// The chain goes on after a restart, also when the record of its end was lost.
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	r.open(dir, nil)
	if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
		t.Fatal(err)
	}
	if report := r.sound(); report.Last != 6 {
		t.Errorf("%+v", report)
	}
}

func TestLevelsAndCategories(t *testing.T) {
	r := newRig(t, "", nil, func(c *audit.Config) { c.Level, c.Events = audit.Minimal, []string{wire.AuditExecutions} })
	if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
		t.Fatal(err)
	}
	if err := r.store.Update(t.Context(), func(tx core.Tx) error {
		return tx.Append(core.Event{Type: core.EventSystemAlert, Time: r.clock.Now()})
	}); err != nil {
		t.Fatal(err)
	}
	list := r.records()
	if len(list) != 2 || string(list[0].Details) != "{}" || list[0].Actor.UserAgent != "" || list[0].Actor.IP == "" || list[0].Request.Path != "" {
		t.Errorf("%d records, %+v", len(list), list[0])
	}
	if r.Wants(wire.AuditAdmin, false) || !r.Wants(wire.AuditExecutions, false) || r.Wants(wire.AuditExecutions, true) || r.Text([]byte("x")) != "" {
		t.Error("the wrong things are wanted")
	}
	r.config.Enabled = false
	r.ApplyConfig(r.config)
	if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil || len(r.records()) != 2 {
		t.Errorf("%v", err)
	}
}

func TestBlockingWhenFull(t *testing.T) {
	r := newRig(t, "", nil, func(c *audit.Config) { c.Blocking, c.MaxBytes = true, 4<<10 })
	var err error
	n := 0
	for ; n < 100 && err == nil; n++ {
		err = r.execute(core.WithAuditIntent(t.Context(), intent()))
	}
	if e := core.AsError(err); err == nil || !e.Unavailable || e.Details["reason"] != "audit_full" || n < 3 {
		t.Fatalf("after %d: %v", n, err)
	}
	seq := r.store.LastSeq()
	if err := r.execute(t.Context()); err == nil || r.store.LastSeq() != seq {
		t.Errorf("something happened: %v", err)
	}
	if err := r.Record(t.Context(), core.AuditEntry{Category: wire.AuditAdmin, Action: "x.y", Outcome: wire.AuditSuccess}); err == nil {
		t.Error("a record was taken")
	}
	r.config.MaxBytes = 1 << 20
	r.ApplyConfig(r.config)
	if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
		t.Error(err)
	}
	r.sound()
}

func TestBufferedSaysWhatItLost(t *testing.T) {
	r := newRig(t, "", nil, func(c *audit.Config) { c.MaxBytes = 4 << 10 })
	for range 20 {
		if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
			t.Fatal(err)
		}
	}
	lost := r.Lost()
	if lost == 0 || !strings.Contains(r.alerted(), "are lost") {
		t.Fatalf("%d lost, alerts %q", lost, r.alerted())
	}
	r.config.MaxBytes = 1 << 20
	r.ApplyConfig(r.config)
	coretest.WaitFor(t, "the record of what was lost", func() bool {
		r.clock.Advance(5 * time.Second)
		list := r.records()
		last := list[len(list)-1]
		return last.Action == trail.ActionLost && strings.Contains(string(last.Details), fmt.Sprintf(`"records":%d`, lost))
	})
	r.sound()
}

func TestQueue(t *testing.T) {
	r := newRig(t, "", nil)
	entry := core.AuditEntry{Category: wire.AuditAuthentication, Action: "session.authenticate", Outcome: wire.AuditDenied, Actor: wire.AuditActor{ID: "anonymous", IP: "10.0.0.9"}}
	for range 50 { // a flood is one record, and later one that counts
		if err := r.Record(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
	}
	other := entry
	other.Actor.IP = "10.0.0.10"
	if err := r.Record(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "two records", func() bool { return len(r.records()) == 2 })
	coretest.WaitFor(t, "the count", func() bool {
		r.clock.Advance(5 * time.Second)
		for _, record := range r.records() {
			if strings.Contains(string(record.Details), `"repeated":49`) {
				return true
			}
		}
		return false
	})
	signIn := core.AuditEntry{Action: "session.authenticate", Actor: wire.AuditActor{ID: "ann", IP: "10.0.0.1"}}
	before := len(r.records())
	for range 5 {
		if err := r.SignedIn(t.Context(), signIn, "key_1"); err != nil {
			t.Fatal(err)
		}
	}
	coretest.WaitFor(t, "the sign-in", func() bool { return len(r.records()) == before+1 })
}

func TestClockSetBack(t *testing.T) {
	r := newRig(t, "", nil)
	if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(-24 * time.Hour)
	if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
		t.Fatal(err)
	}
	list := r.records()
	if len(list) != 5 || list[2].Action != "system.clock" || string(list[2].Details) != `{"setBackMs":86400000}` || !list[3].Timestamp.Before(list[0].Timestamp) {
		t.Errorf("%d records, %+v %s", len(list), list[2], list[2].Details)
	}
	r.sound()
	page, err := r.FindAudit(t.Context(), core.AuditFilter{Since: list[0].Timestamp, Action: "executions.create"})
	if err != nil || len(page.Records) != 1 || page.Records[0].Sequence != 1 {
		t.Errorf("what lies behind a step back is found: %+v, %v", page, err)
	}
}

// Records that were stamped while the clock was ahead go with those around them: they do not keep all that follow for ever.
func TestRetentionAfterClockAhead(t *testing.T) {
	const keep = 48 * time.Hour
	r := newRig(t, "", nil, func(c *audit.Config) { c.Retention = keep })
	record := func(n int) {
		t.Helper()
		for range n {
			if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.clock.Step(10 * 365 * 24 * time.Hour)
	record(3)
	r.clock.Step(-10 * 365 * 24 * time.Hour)
	record(3)
	r.clock.Advance(keep / 2)
	coretest.WaitFor(t, "the trail to be looked at", func() bool {
		r.clock.Advance(time.Minute)
		return r.store.AuditHead().Sequence > 12 // a checkpoint is written as time passes
	})
	if head := r.store.AuditHead(); head.First != 1 {
		t.Fatalf("what was stamped ahead of records that are kept went: %+v", head)
	}
	coretest.WaitFor(t, "retention", func() bool {
		r.clock.Advance(30 * time.Minute)
		return r.store.AuditHead().First > 12
	})
	r.sound()
}

// A step back whose transaction fails is recorded by the next one, and once by all of one commit.
func TestClockSetBackBeforeAFailure(t *testing.T) {
	r := newRig(t, "", nil)
	if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(-24 * time.Hour)
	refused := errors.New("no room")
	if err := r.store.RecordAudit(t.Context(), func(tx core.AuditTx) error {
		return errors.Join(r.Hook(core.WithAuditIntent(t.Context(), intent()), tx), refused)
	}); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if err := r.store.RecordAudit(t.Context(), func(tx core.AuditTx) error {
		ctx := core.WithAuditIntent(t.Context(), intent())
		return errors.Join(r.Hook(ctx, tx), r.Hook(ctx, tx))
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
		t.Fatal(err)
	}
	steps := 0
	for _, record := range r.records() {
		if record.Action == "system.clock" {
			steps++
		}
	}
	if steps != 1 {
		t.Errorf("%d records of the step", steps)
	}
	r.sound()
}

func TestFind(t *testing.T) {
	r := newRig(t, "", nil)
	for range 30 {
		if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
			t.Fatal(err)
		}
		r.clock.Advance(time.Minute)
	}
	var all []*core.AuditRecord
	f := core.AuditFilter{Action: "executions.c*", Actor: "ann", Category: wire.AuditExecutions, Outcome: wire.AuditSuccess, Resource: "executions/" + executionID, Limit: 7}
	for {
		page, err := r.FindAudit(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Records...)
		if f.Cursor = page.NextCursor; !page.HasMore {
			break
		}
	}
	if len(all) != 30 || all[0].Sequence < all[29].Sequence {
		t.Errorf("%d records", len(all))
	}
	for name, f := range map[string]core.AuditFilter{
		"actor": {Actor: "an"}, "action": {Action: "executions"}, "resource": {Resource: "executions/other"}, "category": {Category: wire.AuditAgents},
		"before": {Before: 1}, "until": {Until: all[29].Timestamp}, "since": {Since: r.clock.Now().Add(time.Hour)},
	} {
		if page, err := r.FindAudit(t.Context(), f); err != nil || len(page.Records) != 0 {
			t.Errorf("%s: %+v, %v", name, page, err)
		}
	}
	below := all[10].Sequence
	page, err := r.FindAudit(t.Context(), core.AuditFilter{Before: below, Limit: 2})
	if err != nil || len(page.Records) != 2 || page.Records[0].Sequence != below-1 || !page.HasMore {
		t.Fatalf("before %d: %+v, %v", below, page, err)
	}
	if page, err = r.FindAudit(t.Context(), core.AuditFilter{Before: below, Limit: 2, Cursor: page.NextCursor}); err != nil || page.Records[0].Sequence != below-3 {
		t.Errorf("behind that: %+v, %v", page, err)
	}
	for _, f := range []core.AuditFilter{{Limit: 101}, {Cursor: "x"}, {Cursor: "eHl6"}} {
		if _, err := r.FindAudit(t.Context(), f); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

// sink is one that does what a test asks for.
type sink struct {
	mu      sync.Mutex
	got     []sinks.Record
	err     error
	reject  uint64
	partial bool // the first call takes half
	block   chan struct{}
	opened  []uint64
}

func (s *sink) Open(_ context.Context, from uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, from)
	return 1 << 40, s.err // a liar
}

func (s *sink) Write(ctx context.Context, batch []sinks.Record) (uint64, error) {
	s.mu.Lock()
	block := s.block
	s.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	for i, r := range batch {
		if r.Sequence == s.reject {
			return batch[0].Sequence + uint64(i) - 1, sinks.Errorf(sinks.CodeRejected, "not this one")
		}
		if s.partial && i == len(batch)/2 {
			s.partial = false
			return r.Sequence - 1, sinks.Errorf(sinks.CodeUnavailable, "gone in the middle")
		}
		s.got = append(s.got, r)
	}
	return batch[len(batch)-1].Sequence, nil
}

func (s *sink) Flush(context.Context) (uint64, error) { return 0, nil }

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

func (s *sink) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// A sink that is down gets everything later, in order; one that refuses a record gets the others; one that hangs holds up
// nobody.
func TestSinks(t *testing.T) {
	down, picky, stuck := &sink{err: sinks.Errorf(sinks.CodeUnavailable, "away")}, &sink{reject: 5, partial: true}, &sink{block: make(chan struct{})}
	r := newRig(t, "", []string{"down", "picky", "stuck"}, func(c *audit.Config) { c.Retention = time.Hour })
	all := map[string]*sink{"down": down, "picky": picky, "stuck": stuck}
	r.Deliver(func(name string) sinks.Sink { return all[name] })
	began := time.Now()
	for range 10 {
		if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("sinks held up the work for %v", took)
	}
	coretest.WaitFor(t, "the picky sink", func() bool {
		r.clock.Advance(time.Second)
		return picky.count() >= 19
	})
	coretest.WaitFor(t, "the alerts", func() bool {
		r.clock.Advance(10 * time.Minute)
		return strings.Contains(r.alerted(), "down is behind") && strings.Contains(r.alerted(), "refuses a record for good")
	})
	if message, _ := r.Trouble(); message == "" {
		t.Error("the health says that all is well")
	}
	// Retention keeps what a sink lacks, however old it is.
	for range 30 {
		r.clock.Advance(10 * time.Minute)
	}
	if head := r.store.AuditHead(); head.First != 1 {
		t.Fatalf("the trail begins with %d, and a sink has nothing", head.First)
	}
	down.set(func() { down.err = nil })
	close(stuck.block)
	last := r.store.AuditHead().Sequence
	coretest.WaitFor(t, "all sinks to catch up", func() bool {
		r.clock.Advance(time.Minute)
		st, _ := r.AuditStatus(t.Context())
		for _, k := range st.Sinks {
			if k.Cursor < last || k.State != "ok" {
				return false
			}
		}
		return true
	})
	down.mu.Lock()
	for i, record := range down.got {
		if record.Sequence != uint64(i)+1 {
			t.Fatalf("record %d came at place %d", record.Sequence, i+1)
		}
	}
	down.mu.Unlock()
	coretest.WaitFor(t, "retention", func() bool {
		r.clock.Advance(30 * time.Minute)
		return r.store.AuditHead().First > 1
	})
	r.Close()
	if report := r.sound(); report.Trimmed == 0 || report.First != report.Trimmed+1 {
		t.Errorf("%+v", report)
	}
	for name := range all {
		if cursor, err := r.store.AuditCursor(context.Background(), name); err != nil || cursor == 0 {
			t.Errorf("the cursor of %s is %d, %v", name, cursor, err)
		}
	}
}

// What an API call costs at the level standard: the record of its request in its transaction.
func BenchmarkCall(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("audit=%v", on), func(b *testing.B) {
			r := newRig(b, "", nil, func(c *audit.Config) { c.Enabled = on })
			ctx := context.Background()
			before := coretest.CPU(b)
			for b.Loop() {
				err := r.store.Update(core.WithAuditIntent(ctx, intent()), func(tx core.Tx) error {
					return tx.Append(core.Event{Type: core.EventTaskAssigned, Subject: executionID, Time: time.Unix(1_800_000_000, 0), Data: []byte("{}")})
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((coretest.CPU(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
}

// The queue and the end of the service may write at the same time: each record is there once, and nothing breaks.
func TestEndWhileTheQueueWrites(t *testing.T) {
	for range 50 {
		r := newRig(t, "", []string{"file"})
		r.Deliver(func(string) sinks.Sink { return &sink{} })
		for n := range 20 {
			entry := core.AuditEntry{Category: wire.AuditAuthentication, Action: "config.reload", Outcome: wire.AuditSuccess, Actor: wire.AuditActor{ID: fmt.Sprint(n)}}
			if err := r.Record(t.Context(), entry); err != nil {
				t.Fatal(err)
			}
		}
		r.Drain()
		seen := map[string]int{}
		for _, record := range r.records() {
			if record.Action == "config.reload" {
				seen[record.Actor.ID]++
			}
		}
		for id, times := range seen {
			if times != 1 {
				t.Fatalf("record %s is there %d times", id, times)
			}
		}
		if len(seen) != 20 {
			t.Fatalf("%d of 20 records are there", len(seen))
		}
		r.Close()
	}
}

// How often a refusal came again is recorded when the service ends, in the sinks as well.
func TestEndTellsRepeats(t *testing.T) {
	for name, names := range map[string][]string{"Trail": nil, "Sinks": {"file"}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "", names)
			to := &sink{}
			r.Deliver(func(string) sinks.Sink { return to })
			for range 5 {
				entry := core.AuditEntry{Category: wire.AuditAuthorization, Action: "keys.create", Outcome: wire.AuditDenied, Actor: wire.AuditActor{ID: "eve"}}
				if err := r.Record(t.Context(), entry); err != nil {
					t.Fatal(err)
				}
			}
			if names == nil {
				r.Close()
			} else {
				r.Drain()
			}
			var told []string
			for _, record := range r.records() {
				if record.Action == "keys.create" {
					told = append(told, string(record.Details))
				}
			}
			if len(told) != 2 || told[1] != `{"repeated":4}` {
				t.Errorf("the trail tells %q", told)
			}
			if names != nil && !slices.ContainsFunc(to.got, func(record sinks.Record) bool { return bytes.Contains(record.JSON, []byte(`"repeated":4`)) }) {
				t.Error("the sink was not told")
			}
		})
	}
}
