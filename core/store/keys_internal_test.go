package store

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

var update = flag.Bool("update", false, "write the golden files")

// The bytes of keys and binary values are on customers' disks: this golden file changes only together
// with the schema version.
func TestGoldenKeys(t *testing.T) {
	hash := idempotencyHash("scope", "key")
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	event := core.Event{Type: core.EventTaskCompleted, ID: "evt_1", Time: at, Data: []byte(`{"a":1}`)}
	active := execState{pattern: "vote", status: core.ExecutionRunning, refs: []string{"h1", "h2"}}
	state := threadState{core.ThreadFailed, "exec_1", "driver", "claude", sumFiles([]core.ContextFile{{Path: "a", Content: "b"}}), "ann"}
	facets := state.facets()
	asked := questions.facets(&core.Question{ExecutionID: "exec_1", Status: core.QuestionOpen})
	workspace := &core.Workspace{ExecutionID: "exec_1", Status: core.WorkspaceReady}
	decision := &core.Decision{Decision: wire.Decision{ExecutionID: "exec_1", ThreadID: "thread_1", Category: "finding"}}
	experience := &core.Experience{Experience: wire.Experience{ExecutionID: "exec_1", Repo: "a/b", Role: "driver", Outcome: core.ExperiencePartial}}
	next := at.Add(time.Minute)
	delivery := &core.Delivery{
		ID: "dlv_1", WebhookID: "wh_1", EventID: "evt_1", Event: core.EventSystemAlert, Seq: 258, Subject: "exec_1", Test: true,
		Status: core.DeliveryPending, StatusCode: 503, Attempts: 2, Manual: 1, CreatedAt: at, FirstAt: &at, NextAt: &next,
		DurationMs: 300, LastError: "answered 503", ResponseBody: "down",
	}
	place := placeOf(258, delivery)
	var b strings.Builder
	for _, row := range []struct {
		name  string
		bytes []byte
	}{
		{"execution", appendKey(nil, prefixExecution, "exec_1")},
		{"active", appendKey(nil, prefixActive, "exec_1")},
		{"by status", appendStatusIndex(nil, "failed", "exec_1")},
		{"by both", appendBothIndex(nil, "a\x00b/c", "failed", "exec_1")},
		{"counter", appendKey(nil, prefixCounter, "vote")},
		{"pattern", appendPatternKey(nil, "vote", "1.0.0")},
		{"definition", appendKey(nil, prefixDefinition, "h1")},
		{"references", appendKey(nil, prefixRefs, "h1")},
		{"batch", appendKey(nil, prefixBatch, "batch_1")},
		{"batch input", appendItem(nil, prefixBatchInput, "batch_1", 258)},
		{"batch result", appendItem(nil, prefixBatchResult, "batch_1", 258)},
		{"batch value", appendItem(nil, prefixBatchValue, "batch_1", 258)},
		{"active batch", appendKey(nil, prefixBatchActive, "batch_1")},
		{"agent", appendKey(nil, prefixAgent, "agent_1")},
		{"managed agent", appendKey(nil, prefixManaged, "magent_1")},
		{"runtime", appendKey(nil, prefixRuntime, "local")},
		{"question", appendKey(nil, prefixQuestion, "q_1")},
		{"question in list", append(appendList(nil, prefixIndex, kindQuestion, asked, 0), "q_1"...)},
		{"question by exec", append(appendList(nil, prefixIndex, kindQuestion, asked, 1), "q_1"...)},
		{"question by status", append(appendList(nil, prefixIndex, kindQuestion, asked, 2), "q_1"...)},
		{"question by both", append(appendList(nil, prefixIndex, kindQuestion, asked, 3), "q_1"...)},
		{"questions, count", appendList(nil, prefixRowCount, kindQuestion, asked, 3)},
		{"thread", appendKey(nil, prefixThread, "thread_1")},
		{"thread state", appendKey(nil, prefixThreadState, "thread_1")},
		{"context files", appendKey(nil, prefixThreadFiles, "thread_1")},
		{"input", appendInput(nil, "thread_1", 258)},
		{"inputs forgotten", appendInputs(nil, "thread_1")},
		{"workspace", appendKey(nil, prefixWorkspace, "ws_1")},
		{"decision", appendKey(nil, prefixDecision, "dec_1")},
		{"decision print", appendDecisionPrint(nil, "exec_1", "f1")},
		{"experience", appendKey(nil, prefixExperience, "exp_1")},
		{"experience print", appendKey(nil, prefixExperiencePrint, "f1")},
		{"threads", appendList(nil, prefixIndex, kindThread, facets, 0)},
		{"threads by all", append(appendList(nil, prefixIndex, kindThread, facets, 15), "thread_1"...)},
		{"thread count", appendList(nil, prefixRowCount, kindThread, facets, 5)},
		{"active threads", appendList(nil, prefixIndex, kindActiveThread, activeFacets("exec_1"), 1)},
		{"threads of somebody", appendCreator(nil, kindThread, "ann", "thread_1")},
		{"workspaces", appendList(nil, prefixIndex, kindWorkspace, workspaces.facets(workspace), 3)},
		{"decisions", appendList(nil, prefixIndex, kindDecision, decisions.facets(decision), 7)},
		{"experiences", appendList(nil, prefixIndex, kindExperience, experiences.facets(experience), 15)},
		{"webhook", appendKey(nil, prefixWebhook, "wh_1")},
		{"webhook number", appendKey(nil, prefixWebhookNumber, "wh_1")},
		{"delivery", appendKey(nil, prefixDelivery, "dlv_1")},
		{"deliveries", append(appendDeliveries(nil, 258, place.status, place.event), "dlv_1"...)},
		{"due", append(appendDue(nil, 258, place.next), "dlv_1"...)},
		{"delivery counts", appendCountKey(nil, 258)},
		{"last webhook", []byte(keyWebhooks)},
		{"idempotency", appendIdempotencyKey(nil, hash)},
		{"idempotency by time", appendIdempotencyIndex(nil, 258, hash)},
		{"journal", appendJournalKey(nil, "exec_1", 258)},
		{"log", appendLogKey(nil, 258)},
		{"cursor", appendKey(nil, prefixCursor, "webhooks")},
		{"schema", []byte(keySchema)},
		{"sequence", []byte(keySeq)},
		{"redo", []byte(keyRedo)},
		{"value of event", appendEvent(nil, &event)},
		{"value of reference", appendReference(nil, "thread_1")},
		{"value of thread", appendThreadState(nil, state)},
		{"value of active", appendActive(nil, active)},
		{"value of delivery", appendDelivery(nil, place, delivery)},
		{"value of del. counts", appendDeliveryCounts(nil, &deliveryCounts{{1, 300}, {0, 0, 2}})},
		{"value of counter", appendCounts(nil, statusCounts{1, 2, 300, 4, 5})},
		{"value of redo", encodeRedo([]write{{[]byte("k"), []byte("v")}, {[]byte("gone"), nil}})},
	} {
		fmt.Fprintf(&b, "%-20s %s\n", row.name, hex.EncodeToString(row.bytes))
	}
	const path = "testdata/keys.golden"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil { // read by everyone who builds
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Fatalf("keys differ from %s:\n%s", path, b.String())
	}
}

func FuzzEscaped(f *testing.F) {
	for _, s := range []string{"", "vote", "a/b", "a\x00b", "\x00", "\x00\x01", "\x00\xFF", "\xFF\xFF", "naïve", strings.Repeat("n", 10_000)} {
		f.Add(s, s+"x")
		f.Add(s, "\x00"+s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		ka, kb := appendEscaped(nil, a), appendEscaped(nil, b)
		got, rest, ok := cutEscaped(append(bytes.Clone(ka), b...))
		if !ok || got != a || string(rest) != b {
			t.Fatalf("%q + %q came back as %q, %q, %v", a, b, got, rest, ok)
		}
		if c, d := strings.Compare(a, b), bytes.Compare(ka, kb); c != d {
			t.Fatalf("%q and %q compare %d, their keys %d", a, b, c, d)
		}
		if a != b && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
			t.Fatalf("one key of %q and %q is a prefix of the other", a, b)
		}
		if s, _, ok := cutEscaped([]byte(a)); ok && !bytes.HasPrefix([]byte(a), appendEscaped(nil, s)) {
			t.Fatalf("%q was read as %q, which is written otherwise", a, s)
		}
	})
}

// Indexes of different patterns never mix, whatever the names.
func FuzzIndexKeys(f *testing.F) {
	f.Add("vote", "vote2", "exec_1", uint64(1), uint32(2))
	f.Add("a", "a\x00", "exec_1", uint64(1)<<63, uint32(0))
	f.Add("", "\x00\x01", "", uint64(0), ^uint32(0))
	f.Fuzz(func(t *testing.T, a, b, id string, seq uint64, index uint32) {
		if a != b {
			for _, pair := range [][2][]byte{
				{appendBothIndex(nil, a, "failed", id), appendBothIndex(nil, b, "failed", "")},
				{appendPatternKey(nil, a, id), appendPatternKey(nil, b, "")},
				{appendJournalKey(nil, a, seq), appendEscaped([]byte(prefixJournal), b)},
				{appendInput(nil, a, seq), appendInputs(nil, b)},
				{appendDecisionPrint(nil, a, id), appendDecisionPrint(nil, b, "")},
				{appendItem(nil, prefixBatchInput, a, index), appendEscaped([]byte(prefixBatchInput), b)},
			} {
				if bytes.HasPrefix(pair[0], pair[1]) {
					t.Fatalf("key %q of %q lies under %q of %q", pair[0], a, pair[1], b)
				}
			}
		}
		fuzzLists(t, []string{a, b, id}, int(index%64))
		if got := lastUint64(appendJournalKey(nil, a, seq)); got != seq {
			t.Fatalf("sequence %d came back as %d", seq, got)
		}
		if bytes.Compare(appendLogKey(nil, seq), appendLogKey(nil, seq+1)) >= 0 && seq+1 != 0 {
			t.Fatalf("the log's order breaks at %d", seq)
		}
	})
}

// Two lists are the same, or nothing of one lies under the other, whatever the names and whichever properties select.
func fuzzLists(t *testing.T, names []string, pick int) {
	t.Helper()
	a := threadState{core.ThreadFailed, names[0], names[1], names[2], 0, ""}.facets()
	b := threadState{core.ThreadFailed, names[1], names[0], names[2], 0, ""}.facets()
	for mask := range 1 << len(a) {
		other := pick % (1 << len(b))
		key := append(appendList(nil, prefixIndex, kindThread, a, mask), names[2]...)
		under := bytes.HasPrefix(key, appendList(nil, prefixIndex, kindThread, b, other))
		if same := mask == other && sameList(a, b, mask); under != same {
			t.Fatalf("key %q of list %d of %q lies under list %d of %q: %v, want %v", key, mask, a, other, b, under, same)
		}
	}
}

func FuzzThreadState(f *testing.F) {
	f.Add(appendThreadState(nil, threadState{core.ThreadFailed, "exec_1", "driver", "claude", 1 << 60, "ann"}))
	f.Add([]byte{1, 0, 0, 0, 0, 0})
	f.Add([]byte{1, 200, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeThreadState(b)
		if err != nil {
			return
		}
		if again, err := decodeThreadState(appendThreadState(nil, s)); err != nil || again != s {
			t.Fatalf("%+v came back as %+v, %v", s, again, err)
		}
	})
}

// Context files that differ have another sum, and one that is never 0, which stands for none.
func FuzzSumFiles(f *testing.F) {
	f.Add("a", "b", "ab", "")
	f.Add("", "", "", "x")
	f.Add("p", strings.Repeat("x", 5000), "p", strings.Repeat("x", 4999)+"y")
	f.Fuzz(func(t *testing.T, path, content, path2, content2 string) {
		one, two := core.ContextFile{Path: path, Content: content}, core.ContextFile{Path: path2, Content: content2}
		sums := map[uint64]bool{}
		for _, files := range [][]core.ContextFile{{one}, {one, one}, {one, two}} {
			sum := sumFiles(files)
			if one == two && len(files) == 2 {
				continue
			}
			if sum == 0 || sums[sum] {
				t.Fatalf("sum of %q is %d, as of other files", files, sum)
			}
			sums[sum] = true
		}
		if (sumFiles([]core.ContextFile{one}) == sumFiles([]core.ContextFile{two})) != (one == two) {
			t.Fatalf("%q and %q have the same sum", one, two)
		}
	})
}

// What a table is named by is its own, wherever it stands: keys of two tables, or of their lists, must not mix.
func TestTablesDoNotMix(t *testing.T) {
	for i, a := range tables {
		for _, b := range tables[i+1:] {
			if a.prefix == b.prefix {
				t.Errorf("%s and %s lie under the same prefix %q", a.kind, b.kind, a.prefix)
			}
			if a.noun == nil || b.noun == nil {
				continue
			}
			one, ids := a.noun.names()
			other, otherIDs := b.noun.names()
			if one != "" && other != "" && (strings.HasPrefix(one, other) || strings.HasPrefix(other, one)) {
				t.Errorf("the lists of %s are named %q, those of %s %q: one begins as the other", a.kind, one, b.kind, other)
			}
			if ids != "" && ids == otherIDs {
				t.Errorf("ids of %s and %s begin with %q", a.kind, b.kind, ids)
			}
		}
	}
}
