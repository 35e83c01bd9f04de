package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/sdk/wire"
)

// deep is JSON that encoding/json takes by itself, and not as a part of something else.
var deep = json.RawMessage(strings.Repeat("[", 9998) + strings.Repeat("]", 9998))

// poison is a broken record in each table that holds more than keys, beside one that is well. The two executions,
// batches, threads and so on are alike but for that.
type poison struct {
	good, bad map[string]string // ids by kind
	keys      [][]byte          // of the broken records
}

// seedPoison stores a good record of each kind and breaks a second one of each.
func seedPoison(t *testing.T, s *Store, at time.Time) poison {
	t.Helper()
	ctx := context.Background()
	p := poison{good: map[string]string{}, bad: map[string]string{}}
	done := at.Add(time.Minute)
	for n, ids := range []map[string]string{p.bad, p.good} { // the broken ones are older, so that all walks meet them first
		made := at.Add(time.Duration(n) * time.Second)
		id := func(prefix string) string {
			ids[prefix] = core.IDBound(prefix, made)
			return ids[prefix]
		}
		over, runs, batch, live := id(core.PrefixExecution), core.IDBound(core.PrefixExecution, made.Add(time.Hour)), id(core.PrefixBatch),
			core.IDBound(core.PrefixBatch, made.Add(time.Hour))
		ids["active"], ids["running"] = runs, live
		thread, managed := id(core.PrefixThread), id(core.PrefixManaged)
		question, hook, delivery, agent := id(core.PrefixQuestion), id(core.PrefixWebhook), id(core.PrefixDelivery), id(core.PrefixAgent)
		ids["pattern"] = ids[core.PrefixExecution]
		err := s.Update(ctx, func(tx core.Tx) error {
			ref := core.PatternRef{Name: ids["pattern"], Version: "1"}
			return errors.Join(
				tx.PutExecution(&core.Execution{
					ID: over, Pattern: ref, Hash: "h" + over, Status: core.ExecutionCompleted, CompletedAt: &done, Input: []byte("1"),
				}),
				tx.PutExecution(&core.Execution{
					ID: runs, Pattern: ref, Hash: "h" + over, Status: core.ExecutionRunning, StartedAt: &at, Input: []byte("1"),
				}),
				tx.PutDefinition("h"+over, "name: vote"),
				tx.PutPattern(&core.Pattern{Name: ids["pattern"], Version: "1", Hash: "h" + over}),
				tx.PutBatchInput(batch, 0, []byte("1")),
				tx.PutBatchResult(batch, core.BatchResult{Status: core.ExecutionCompleted, Result: json.RawMessage(`1`)}),
				tx.PutBatch(&core.Batch{ID: batch, Status: core.BatchCompleted, CompletedAt: &done}),
				tx.PutBatch(&core.Batch{ID: live, Status: core.BatchRunning}),
				tx.PutAgent(&core.AgentRecord{Agent: core.Agent{ID: agent, Status: core.AgentDisconnected, DisconnectedAt: &done}}),
				tx.PutManagedAgent(&core.ManagedAgentRecord{ManagedAgent: core.ManagedAgent{ID: managed}}),
				tx.PutRuntimePosition(core.RuntimePosition{Runtime: "rt" + over, Seq: 7}),
				tx.PutQuestion(&core.Question{ID: question, ExecutionID: runs, Status: core.QuestionOpen}),
				tx.PutThread(&core.ThreadRecord{Thread: core.Thread{
					ID: thread, ExecutionID: runs, Status: core.ThreadRunning, Role: "r" + over, AgentType: "t" + over,
					Preparation: core.Preparation{ContextFiles: []core.ContextFile{{Path: "a", Content: "b"}}},
				}}),
				tx.PutInput(&core.QueuedInput{ThreadID: thread, Number: 1}),
				tx.PutWorkspace(&core.Workspace{ID: id(core.PrefixWorkspace), Status: core.WorkspaceReady}),
				tx.PutDecision(&core.Decision{Decision: wire.Decision{ID: id(core.PrefixDecision), ExecutionID: runs}, Fingerprint: "f"}),
				tx.PutExperience(&core.Experience{
					Experience: wire.Experience{ID: id(core.PrefixMemory), Outcome: core.ExperienceOutcomes[0]}, Fingerprint: "f" + over,
				}),
				tx.PutWebhook(&core.WebhookRecord{Webhook: core.Webhook{ID: hook}}),
				tx.PutDelivery(&core.Delivery{
					ID: delivery, WebhookID: hook, Status: core.DeliveryFailed, Event: core.EventSystemAlert, CreatedAt: made, Timestamp: &done,
				}),
				tx.PutDelivery(&core.Delivery{
					ID: core.IDBound(core.PrefixDelivery, made.Add(time.Hour)), WebhookID: hook, Status: core.DeliveryPending,
					Event: core.EventSystemAlert, CreatedAt: made, NextAt: &done, Seq: 1,
				}),
				tx.SetCursor("c"+over, 1),
				tx.ClaimIdempotency(&core.IdempotencyClaim{Scope: "me", Key: over}, over, made),
				tx.Append(
					core.Event{Type: core.EventExecutionStarted, ID: "evt_" + over, Subject: over, Time: made},
					core.Event{Type: core.EventTaskAssigned, Subject: over, Time: made, Group: "group"},
					core.Event{Type: core.EventManagedReady, Subject: managed, Time: made},
				),
			)
		})
		if err != nil {
			t.Fatal(err)
		}
		seedPoisonOfAccess(t, s, ids, made)
	}
	over, managed := p.bad[core.PrefixExecution], p.bad[core.PrefixManaged]
	number := binary.BigEndian.AppendUint32(nil, 1) // of the webhook that was stored first
	failed := placeOf(1, &core.Delivery{Status: core.DeliveryFailed, Event: core.EventSystemAlert})
	p.keys = [][]byte{
		[]byte("x/" + over), []byte("x/" + p.bad["active"]), []byte("ix/xa/" + p.bad["active"]), []byte("c/" + p.bad["pattern"]),
		appendPatternKey(nil, p.bad["pattern"], "1"), []byte("d/h" + over), []byte("dr/h" + over),
		[]byte("b/" + p.bad[core.PrefixBatch]), []byte("b/" + p.bad["running"]),
		appendItem(nil, prefixBatchResult, p.bad[core.PrefixBatch], 0),
		appendItem(nil, prefixBatchValue, p.bad[core.PrefixBatch], 0),
		[]byte("a/" + p.bad[core.PrefixAgent]), []byte("ma/" + managed), []byte("rt/rt" + over), []byte("q/" + p.bad[core.PrefixQuestion]),
		[]byte("th/" + p.bad[core.PrefixThread]), []byte("ts/" + p.bad[core.PrefixThread]), appendInput(nil, p.bad[core.PrefixThread], 1),
		[]byte("w/" + p.bad[core.PrefixWorkspace]), []byte("dc/" + p.bad[core.PrefixDecision]), []byte("e/" + p.bad[core.PrefixMemory]),
		[]byte("wh/" + p.bad[core.PrefixWebhook]), []byte("wn/" + p.bad[core.PrefixWebhook]), []byte("v/" + p.bad[core.PrefixDelivery]),
		slices.Concat([]byte("vc/"), number),
		appendList(nil, prefixRowCount, kindThread, threadFacets(core.ThreadFilter{}), 0),
		appendList(nil, prefixRowCount, kindActiveThread, activeFacets(""), 0),
		appendList(nil, prefixRowCount, kindWorkspace, workspaces.facets(&core.Workspace{}), 0),
		appendIdempotencyKey(nil, idempotencyHash("me", over)), []byte("cur/c" + over),
		appendJournalKey(nil, over, 1), appendJournalKey(nil, over, 2), appendJournalKey(nil, managed, 3),
		[]byte("meta/seq"), []byte("meta/webhooks"), []byte("meta/audit"), []byte("meta/clock"), []byte("meta/installation"),
		[]byte("tf/" + p.bad[core.PrefixThread]), appendSpanKey(nil, spanPlaceOf(false, at.Unix()/60)),
		append(appendDeliveries(nil, 1, failed.status, failed.event), p.bad[core.PrefixDelivery]...),
		[]byte("k/" + p.bad[core.PrefixAPIKey]), []byte("at/" + p.bad[core.PrefixToken]), []byte("s/" + p.bad[core.PrefixSession]),
		[]byte("sc/" + p.bad[core.PrefixSchedule]), []byte("tg/" + p.bad[core.PrefixTrigger]), []byte("er/" + p.bad[core.PrefixErasure]),
		appendAuditKey(nil, 1), []byte("ac/sink" + over),
	}
	p.whole(t)
	return p
}

// seedPoisonOfAccess stores what came after the others: who may call, what starts by itself, and the audit trail.
func seedPoisonOfAccess(t *testing.T, s *Store, ids map[string]string, made time.Time) {
	t.Helper()
	ctx := context.Background()
	for _, prefix := range []string{
		core.PrefixAPIKey, core.PrefixToken, core.PrefixSession, core.PrefixSchedule, core.PrefixTrigger, core.PrefixErasure,
	} {
		ids[prefix] = core.IDBound(prefix, made)
	}
	key := new(core.APIKeyRecord)
	key.ID, key.Name, key.Owner = ids[core.PrefixAPIKey], "key "+ids[core.PrefixAPIKey], "me"
	token := new(core.AgentTokenRecord)
	token.ID = ids[core.PrefixToken]
	session := new(core.SessionRecord)
	session.ID, session.User = ids[core.PrefixSession], "me"
	schedule := new(core.ScheduleRecord)
	schedule.ID = ids[core.PrefixSchedule]
	trigger := new(core.TriggerRecord)
	trigger.ID = ids[core.PrefixTrigger]
	erasure := new(core.ErasureRecord)
	erasure.ID, erasure.Status = ids[core.PrefixErasure], wire.ErasureRunning
	err := s.Update(ctx, func(tx core.Tx) error {
		return errors.Join(tx.PutAPIKey(key), tx.PutAgentToken(token), tx.PutSession(session), tx.PutSchedule(schedule), tx.PutTrigger(trigger),
			tx.PutErasure(erasure))
	})
	err = errors.Join(err, s.RecordAudit(ctx, func(tx core.AuditTx) error { return tx.AppendAudit(auditSeal) }),
		s.SetAuditCursor(ctx, "sink"+ids[core.PrefixExecution], 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Installation(ctx, func() string { return "inst_1" }); err != nil {
		t.Fatal(err)
	}
	s.keepClock(ctx)
}

// auditSeal makes an audit record.
func auditSeal(dst []byte, sequence uint64, _ core.AuditHash) ([]byte, time.Time, core.AuditHash) {
	return fmt.Appendf(dst, `{"sequence":%d,"hash":"%064d"}`, sequence, 0), time.UnixMilli(1), core.AuditHash{}
}

// whole fails unless a record of each table is broken that can be.
func (p poison) whole(t *testing.T) {
	t.Helper()
	elsewhere := map[string]string{
		keySchema: "TestSchemaUnreadable", keySchemaCopy: "TestSchemaUnreadable", keyRedoBroken: "TestRedoAfterCrash",
	}
	has := map[string]bool{}
	for _, key := range p.keys {
		section, _ := sectionOf(key)
		has[section.prefix] = true
	}
	for _, section := range tables {
		if section.decode(nil, []byte{9}) != nil && !has[section.prefix] && elsewhere[section.prefix] == "" {
			t.Errorf("no %s (%s) is broken", section.kind, section.prefix)
		}
	}
}

// spoil overwrites the records with what cannot be decoded.
func (p poison) spoil(t *testing.T, s *Store) {
	t.Helper()
	var writes []write
	for _, key := range p.keys {
		value := []byte{9}
		if section, _ := sectionOf(key); section.prefix == prefixExecution {
			value, _ = json.Marshal(core.Execution{ID: "x", Agents: []core.AgentResult{{Result: deep}}}) // as an agent did it
		}
		if checkRecord(key, value) == nil {
			t.Fatalf("%q is not broken", key)
		}
		writes = append(writes, write{key, value})
	}
	if err := commitWrites(s.db, writes); err != nil {
		t.Fatal(err)
	}
}

// swap puts in the place of each record the sealed bytes of another one.
func (p poison) swap(t *testing.T, s *Store) {
	t.Helper()
	below := s.db.(*atrest.DB).Unwrap()
	txn := below.Snapshot()
	defer txn.Discard()
	other, err := get(txn, []byte(keySchema))
	var writes []write
	for _, key := range p.keys {
		writes = append(writes, write{key, other})
	}
	if err := errors.Join(err, commitWrites(below, writes)); err != nil {
		t.Fatal(err)
	}
}

// One broken record in each table keeps nobody from the others: not lists, not retention, not the next start.
func TestBrokenRecords(t *testing.T) {
	t.Parallel()
	t.Run("InClear", func(t *testing.T) { testBrokenRecords(t, nil, poison.spoil) })
	t.Run("Encrypted", func(t *testing.T) { testBrokenRecords(t, newEncryption(t), poison.swap) })
}

func testBrokenRecords(t *testing.T, encryption *Encryption, spoil func(p poison, t *testing.T, s *Store)) {
	ctx := context.Background()
	clock := coretest.NewClock()
	dir := t.TempDir()
	opts := Options{Path: dir, MinFreeBytes: 1 << 20, Clock: clock, Encryption: encryption}
	s, err := Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	p := seedPoison(t, s, clock.Now())
	spoil(p, t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(ctx, opts); err != nil {
		t.Fatalf("the next start: %v", err)
	}
	defer func() { _ = s.Close() }()

	t.Run("Lists", func(t *testing.T) { brokenLists(t, s, p) })
	t.Run("Writes", func(t *testing.T) {
		for name, fn := range map[string]func(tx core.Tx) error{
			"Event": func(tx core.Tx) error { return tx.Append(core.Event{Type: core.EventTaskAssigned, Subject: "new"}) },
			"Pattern": func(tx core.Tx) error {
				return tx.PutPattern(&core.Pattern{Name: p.bad["pattern"], Version: "1", Hash: "new"})
			},
			"Execution": func(tx core.Tx) error {
				return tx.PutExecution(&core.Execution{ID: "exec_z", Status: core.ExecutionPending})
			},
			"Webhook": func(tx core.Tx) error { return tx.PutWebhook(&core.WebhookRecord{Webhook: core.Webhook{ID: "wh_z"}}) },
			"Thread": func(tx core.Tx) error {
				if n, err := tx.CountActiveThreads(""); err != nil || n != 2 {
					t.Errorf("%d active threads, %v", n, err)
				}
				return tx.PutThread(&core.ThreadRecord{Thread: core.Thread{ID: "thread_z", ExecutionID: "exec_z", Status: core.ThreadRunning}})
			},
			"Decision": func(tx core.Tx) error { // with the fingerprint of the broken one
				same, err := tx.SameDecision(p.bad["active"], "f")
				if same != nil || err != nil {
					t.Errorf("same decision: %v, %v", same, err)
				}
				return tx.PutDecision(&core.Decision{Decision: wire.Decision{ID: "dec_z", ExecutionID: p.bad["active"]}, Fingerprint: "f"})
			},
			"Key": func(tx core.Tx) error { // with the name of the broken one
				name := "key " + p.bad[core.PrefixAPIKey]
				named, err := tx.APIKeyNamed(name)
				if named != nil || err != nil {
					t.Errorf("the key of that name: %v, %v", named, err)
				}
				key := new(core.APIKeyRecord)
				key.ID, key.Name, key.Owner = "key_z", name, "me"
				return tx.PutAPIKey(key)
			},
			"Token": func(tx core.Tx) error {
				token := new(core.AgentTokenRecord)
				token.ID = "at_z"
				return tx.PutAgentToken(token)
			},
			"Session": func(tx core.Tx) error {
				session := new(core.SessionRecord)
				session.ID, session.User = "sess_z", "me"
				return tx.PutSession(session)
			},
			"Schedule": func(tx core.Tx) error { return tx.DeleteSchedule(p.good[core.PrefixSchedule]) },
			"Trigger":  func(tx core.Tx) error { return tx.DeleteTrigger(p.good[core.PrefixTrigger]) },
		} {
			if err := s.Update(ctx, fn); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, want := range map[string]uint32{p.good[core.PrefixWebhook]: 2, "wh_z": 3} {
			err := s.view(ctx, func(txn kv.Snapshot) error {
				if n, err := webhookNumber(txn, name); err != nil || n != want {
					t.Errorf("webhook %s has the number %d, %v", name, n, err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if seq := s.LastSeq(); seq != 7 {
			t.Errorf("the last sequence is %d: it went back", seq)
		}
		if err := s.RecordAudit(ctx, func(tx core.AuditTx) error { return tx.AppendAudit(auditSeal) }); err != nil || s.AuditHead().Sequence != 3 {
			t.Errorf("the audit trail ends with %+v, %v", s.AuditHead(), err)
		}
		if id, err := s.Installation(ctx, func() string { return "inst_2" }); err != nil || id != "inst_2" {
			t.Errorf("the installation is %q, %v", id, err)
		}
	})
	t.Run("Dump", func(t *testing.T) {
		var out bytes.Buffer
		if _, err := s.Dump(ctx, &out, nil); err != nil {
			t.Fatal(err)
		}
		back := filepath.Join(t.TempDir(), "back")
		if _, err := Restore(ctx, &out, back, nil, nil); err != nil {
			t.Fatal(err)
		}
		restored, err := Open(ctx, Options{Path: back, MinFreeBytes: 1 << 20, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = restored.Close() }()
		if _, err := restored.FindExecution(ctx, p.good[core.PrefixExecution]); err != nil {
			t.Error(err)
		}
	})
	t.Run("Retention", func(t *testing.T) {
		clock.Advance(1000 * time.Hour)
		all := Policy{
			Executions: time.Hour, Events: time.Hour, Batches: time.Hour, Agents: time.Hour, Idempotency: time.Hour, Deliveries: time.Hour,
		}
		for range 2 {
			if _, err := s.Retain(ctx, all); err != nil {
				t.Fatal(err)
			}
		}
		if failures := s.RetentionFailures(); len(failures) > 0 {
			t.Errorf("failures: %v", failures)
		}
		gone := []func() error{
			func() error { _, err := s.FindExecution(ctx, p.good[core.PrefixExecution]); return err },
			func() error { _, err := s.FindBatch(ctx, p.good[core.PrefixBatch]); return err },
			func() error { _, err := s.FindDelivery(ctx, p.good[core.PrefixDelivery]); return err },
		}
		for i, find := range gone {
			if err := find(); core.ErrorCode(err) != core.CodeNotFound {
				t.Errorf("%d: what is well was not retired: %v", i, err)
			}
		}
		if agents, err := s.AllAgents(ctx); err != nil || len(agents) > 0 {
			t.Errorf("agents: %v, %v", agents, err)
		}
		n, err := s.TrimAudit(ctx, 2, func(time.Time) bool { return true }, func(uint64, int) core.AuditSeal { return auditSeal })
		if err != nil || n != 1 || s.AuditHead().First != 3 {
			t.Errorf("%d audit records went, %v, %+v", n, err, s.AuditHead())
		}
	})
	t.Run("Notes", func(t *testing.T) {
		noted := map[string]bool{}
		for _, n := range s.Broken() {
			noted[n.Key] = true
			if n.Kind == "" || n.ID == "" || n.Reason == "" || n.FoundAt.IsZero() {
				t.Errorf("%+v", n)
			}
		}
		for _, key := range []string{
			"x/" + p.bad[core.PrefixExecution], "x/" + p.bad["active"], "b/" + p.bad[core.PrefixBatch], "th/" + p.bad[core.PrefixThread],
			"ma/" + p.bad[core.PrefixManaged], "wh/" + p.bad[core.PrefixWebhook], "cur/c" + p.bad[core.PrefixExecution],
			"k/" + p.bad[core.PrefixAPIKey], "at/" + p.bad[core.PrefixToken], "s/" + p.bad[core.PrefixSession], "sc/" + p.bad[core.PrefixSchedule],
			"tg/" + p.bad[core.PrefixTrigger], "er/" + p.bad[core.PrefixErasure], string(appendAuditKey(nil, 1)), "meta/audit", "meta/clock",
			"meta/installation",
		} {
			if !noted[key] {
				t.Errorf("%s is not noted", key)
			}
		}
		s.keepNotes(ctx)
		want := s.Broken()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = Open(ctx, opts); err != nil {
			t.Fatal(err)
		}
		if got := s.Broken(); len(got) < len(want) {
			t.Errorf("%d notes after the next start, want %d", len(got), len(want))
		}
		mended := []byte("wh/" + p.bad[core.PrefixWebhook])
		if err := commitWrites(s.db, []write{{mended, []byte("{}")}}); err != nil {
			t.Fatal(err)
		}
		if err := s.reviewBroken(ctx); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(s.Broken(), func(n BrokenRecord) bool { return n.Key == string(mended) }) {
			t.Error("what can be read again is still noted")
		}
	})
}

func brokenLists(t *testing.T, s *Store, p poison) {
	ctx := context.Background()
	count := func(n int, err error) func(want int) {
		t.Helper()
		return func(want int) {
			t.Helper()
			if err != nil || n != want {
				t.Errorf("%d rows, %v, want %d", n, err, want)
			}
		}
	}
	executions, info, err := s.FindExecutions(ctx, core.ExecutionFilter{})
	count(len(executions), err)(3) // the rows say what lists show
	if info.Total != 3 {           // of one neither the record nor its entry among the active ones can be read
		t.Errorf("total %d", info.Total)
	}
	active, err := s.ActiveExecutions(ctx)
	count(len(active), err)(1)
	patterns, err := s.AllPatterns(ctx)
	count(len(patterns), err)(1)
	batches, err := s.ActiveBatches(ctx)
	count(len(batches), err)(1)
	agents, err := s.AllAgents(ctx)
	count(len(agents), err)(1)
	managed, err := s.AllManagedAgents(ctx)
	count(len(managed), err)(1)
	positions, err := s.RuntimePositions(ctx)
	count(len(positions), err)(1)
	questions, _, err := s.FindQuestions(ctx, core.QuestionFilter{Status: core.QuestionOpen})
	count(len(questions), err)(1)
	threads, info, err := s.FindThreads(ctx, core.ThreadFilter{})
	count(len(threads), err)(1)
	count(info.Total, err)(2)
	threads, _, err = s.FindThreads(ctx, core.ThreadFilter{Status: core.ThreadRunning})
	count(len(threads), err)(1)
	threads, err = s.ActiveThreads(ctx)
	count(len(threads), err)(1)
	inputs, err := s.QueuedInputs(ctx, p.bad[core.PrefixThread], 0, 0)
	count(len(inputs), err)(0)
	workspaces, _, err := s.FindWorkspaces(ctx, core.WorkspaceFilter{})
	count(len(workspaces), err)(1)
	workspaces, err = s.AllWorkspaces(ctx)
	count(len(workspaces), err)(1)
	decisions, _, err := s.FindDecisions(ctx, core.DecisionFilter{})
	count(len(decisions), err)(1)
	experiences, _, err := s.FindExperiences(ctx, core.ExperienceFilter{})
	count(len(experiences), err)(1)
	walked := 0
	err = s.WalkExperiences(ctx, "", func(*core.Experience) error { walked++; return nil })
	count(walked, err)(1)
	hooks, err := s.AllWebhooks(ctx)
	count(len(hooks), err)(1)
	deliveries, _, err := s.FindDeliveries(ctx, core.DeliveryFilter{})
	count(len(deliveries), err)(2)
	due, err := s.DueDeliveries(ctx, p.good[core.PrefixWebhook], time.Time{}, "", 10)
	count(len(due), err)(1)
	seq, err := s.Cursor(ctx, "c"+p.bad[core.PrefixExecution])
	count(int(seq), err)(0)
	events, _, err := s.Log(ctx, 0, 0)
	count(len(events), err)(1)
	events, _, err = s.Events(ctx, p.bad[core.PrefixExecution], 0, 0)
	count(len(events), err)(2)
	if err == nil && (events[0].Type != core.EventUnreadable || events[0].Seq != 1) {
		t.Errorf("%+v", events[0])
	}
	events, _, err = s.Events(ctx, "group", 0, 0)
	count(len(events), err)(2)
	keys, info, err := s.FindAPIKeys(ctx, core.APIKeyFilter{})
	count(len(keys), err)(1)
	count(info.Total, err)(2)
	tokens, _, err := s.FindAgentTokens(ctx, core.AgentTokenFilter{})
	count(len(tokens), err)(1)
	sessions, _, err := s.FindSessions(ctx, core.SessionFilter{User: "me"})
	count(len(sessions), err)(1)
	schedules, err := s.AllSchedules(ctx)
	count(len(schedules), err)(1)
	triggers, err := s.AllTriggers(ctx)
	count(len(triggers), err)(1)
	erasures, err := s.AllErasures(ctx)
	count(len(erasures), err)(1)
	erasures, _, err = s.FindErasures(ctx, core.ErasureFilter{})
	count(len(erasures), err)(1)
	rows := 0
	err = s.AuditRows(ctx, 1, false, func(core.AuditRow) (bool, error) { rows++; return true, nil })
	count(rows, err)(1)
	seq, err = s.AuditCursor(ctx, "sink"+p.bad[core.PrefixExecution])
	count(int(seq), err)(0)
	through, err := s.Throughput(ctx)
	if err != nil || len(through.Hours) != 1 {
		t.Errorf("throughput: %+v, %v", through, err)
	}
	counts, err := s.CountExecutions(ctx)
	if err != nil || counts[p.bad["pattern"]][core.ExecutionCompleted] != 1 || counts[p.bad["pattern"]][core.ExecutionRunning] != 0 {
		t.Errorf("counts: %v, %v", counts, err)
	}
	if _, err := s.FindExecution(ctx, p.bad[core.PrefixExecution]); core.ErrorCode(err) != core.CodeInternal ||
		!strings.Contains(core.AsError(err).Message, "cannot be read") {
		t.Errorf("the broken execution itself: %v", err)
	}
}

// What could not be read back is refused when it is put, whatever let it in.
func TestTooDeep(t *testing.T) {
	s, err := Open(context.Background(), Options{Path: t.TempDir(), MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	e := &core.Execution{ID: "exec_1", Status: core.ExecutionCompleted, Agents: []core.AgentResult{{Result: deep}}}
	err = s.Update(context.Background(), func(tx core.Tx) error { return tx.PutExecution(e) })
	if core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "nested") {
		t.Fatalf("got %v", err)
	}
	e.Agents[0].Result = deep[2 : len(deep)-2]
	e.Input, _ = json.Marshal(strings.Repeat(`["\`, 9999)) // brackets in text count for nothing
	if err := s.Update(context.Background(), func(tx core.Tx) error { return tx.PutExecution(e) }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.FindExecution(context.Background(), "exec_1"); err != nil {
		t.Fatal(err)
	}
}
