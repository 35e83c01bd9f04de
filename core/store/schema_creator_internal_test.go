package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/kv/memory"
	"github.com/wardroom/wardroom/sdk/wire"
)

// A store of schema 4 has the lists by creators after its migration, at whatever commit that was killed before, whether or
// not the commit had reached the disk, and whatever a program of the former version did meanwhile.
func TestListCreators(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := coretest.NewClock()
	made := func(former bool) *memory.DB {
		t.Helper()
		db := memory.New()
		s, err := OpenOn(ctx, db, Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		at := clock.Now()
		for i := range 300 {
			by := []string{"", "ann", "ben"}[i%3]
			id := func(prefix string) string { return fmt.Sprintf("%s%03d", prefix, i) }
			e := &core.Execution{ID: id("exec_"), Status: core.ExecutionPending, Pattern: core.PatternRef{Name: "vote"}, CreatedBy: by, CreatedAt: at}
			r := new(core.ThreadRecord)
			r.ID, r.ExecutionID, r.Status, r.AgentType, r.CreatedBy = id("thread_"), e.ID, core.ThreadStatuses[i%len(core.ThreadStatuses)], "shell", by
			if i%2 == 0 {
				r.Preparation.ContextFiles = []core.ContextFile{{Path: "a", Content: "b"}}
			}
			q := &core.Question{ID: id("q_"), ExecutionID: e.ID, Status: core.QuestionOpen, CreatedBy: by, CreatedAt: at, ExpiresAt: at}
			d := &core.Decision{Decision: wire.Decision{ID: id("dec_"), ExecutionID: e.ID, CreatedBy: by, Details: []byte("{}")}}
			k := new(core.APIKeyRecord)
			k.ID, k.Name, k.Owner, k.CreatedBy = id("key_"), id("name"), "o", by
			x := &core.Experience{Experience: wire.Experience{ID: id("mem_"), ExecutionID: e.ID, Role: "era", Outcome: core.ExperiencePartial, Details: []byte("{}")}}
			g := new(core.ErasureRecord)
			g.RequestedBy = by
			g.ID, g.Status = id("era_"), wire.ErasureStatus([]string{"running", "completed"}[i%2])
			err := s.Update(ctx, func(tx core.Tx) error {
				return errors.Join(tx.PutExecution(e), tx.PutThread(r), tx.PutQuestion(q), tx.PutDecision(d), tx.PutAPIKey(k), tx.PutExperience(x),
					tx.PutErasure(g))
			})
			if err != nil {
				t.Fatal(err)
			}
			if !former {
				continue
			}
			state := threadStateOf(r)
			state.creator = ""
			q.CreatedBy = ""
			question, err := appendJSON(nil, q)
			if err != nil {
				t.Fatal(err)
			}
			bare := appendThreadState(nil, state)
			if err := commitWrites(db, []write{
				{appendKey(nil, prefixThreadState, r.ID), bare[:len(bare)-1]}, {appendKey(nil, prefixQuestion, q.ID), question},
				{[]byte("ix/er/" + g.ID), []byte{}}, {[]byte("ix/ers/" + string(g.Status) + "\x00\x01" + g.ID), []byte{}},
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !former {
			return db
		}
		writes := []write{
			{appendCreator(nil, kindThread, "ann", "thread_gone"), []byte{}}, // of a migration that was killed
			{[]byte("n/z/"), appendUint64(nil, 7)}, {[]byte("n/er/"), appendUint64(nil, 300)},
			{[]byte("n/ers/running\x00\x01"), appendUint64(nil, 150)}, {[]byte("n/ers/completed\x00\x01"), appendUint64(nil, 150)},
			{[]byte(prefixThread + "thread_bad"), []byte("{")},
		}
		for key := range keysOf(t, db) {
			for _, kind := range []string{"ix/tb/", "ix/qb/", "ix/db/", "ix/kb/", "ix/z", "n/zs"} {
				if strings.HasPrefix(key, kind) {
					writes = append(writes, write{key: []byte(key)})
				}
			}
		}
		if err := errors.Join(commitWrites(db, writes), writeSchema(db, 4)); err != nil {
			t.Fatal(err)
		}
		return db
	}
	want := keysOf(t, made(false))
	delete(want, keyClock)
	old := made(true)
	for _, kept := range []bool{false, true} {
		for n := range 6 {
			db := old.Copy()
			db.Fail(n, kept)
			s, err := OpenOn(ctx, db, Options{Clock: clock})
			if n > 0 && err != nil {
				s, err = OpenOn(ctx, db, Options{Clock: clock})
			}
			if err != nil {
				t.Fatal(err)
			}
			threads, mine, err := s.FindThreads(ctx, core.ThreadFilter{CreatedBy: "ann"})
			_, asked, err2 := s.FindQuestions(ctx, core.QuestionFilter{CreatedBy: "ann", Status: core.QuestionOpen})
			_, erased, err3 := s.FindErasures(ctx, core.ErasureFilter{})
			hers, byAnn, err4 := s.FindErasures(ctx, core.ErasureFilter{CreatedBy: "ann", Page: core.Page{Limit: 30}})
			if err4 == nil && (byAnn.Total != 100 || !byAnn.HasMore || len(hers) != 30 || hers[29].RequestedBy != "ann") {
				t.Fatalf("erasures of ann: %+v, %d", byAnn, len(hers))
			}
			if err := errors.Join(err, err2, err3, err4, s.Close()); err != nil || mine.Total != 100 || asked.Total != 100 || erased.Total != 300 || threads[0].CreatedBy != "ann" {
				t.Fatalf("%+v, %+v, %+v, %v", mine, asked, erased, err)
			}
			got := keysOf(t, db)
			delete(got, keyClock)
			delete(got, prefixThread+"thread_bad")
			for key, value := range want {
				if got[key] != value {
					t.Fatalf("killed at commit %d: %q is %q, want %q", n, key, got[key], value)
				}
				delete(got, key)
			}
			for key := range got {
				t.Errorf("killed at commit %d: %q is left", n, key)
			}
		}
	}
}

// What a list is in the index of leads back to its record, whatever the kind: a check removes what leads nowhere.
func TestEveryListLeadsToItsRecord(t *testing.T) {
	lists := map[string]string{kindThread: prefixThread, kindActiveThread: prefixThread}
	for _, s := range tables {
		if s.noun == nil {
			continue
		}
		if kind, _ := s.noun.names(); kind != "" {
			if other := lists[kind]; other != "" {
				t.Errorf("the lists of %s have the name of those under %s", s.kind, other)
			}
			lists[kind] = s.prefix
		}
	}
	if len(lists) < 11 {
		t.Errorf("only %d kinds of lists", len(lists))
	}
	for kind, prefix := range lists {
		for _, letters := range []string{"/", "b/ann\x00\x01", "s/open\x00\x01"} {
			if got := string(recordOf([]byte(prefixIndex+kind+letters+"id_1"), nil)); got != prefix+"id_1" {
				t.Errorf("%s%s leads to %q, want %q", kind, letters, got, prefix+"id_1")
			}
		}
	}
}
