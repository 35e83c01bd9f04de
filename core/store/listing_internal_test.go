package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/sdk/wire"
)

// checkCounts proves that every count is the number of rows of its list, that no list is without a count, and that
// every row leads to a record.
func checkCounts(t *testing.T, s *Store) {
	t.Helper()
	rows, counts := map[string]uint64{}, map[string]uint64{}
	err := s.view(context.Background(), func(txn kv.Snapshot) error {
		for kind, record := range map[string]string{
			kindThread: prefixThread, kindActiveThread: prefixThread, kindWorkspace: prefixWorkspace,
			kindDecision: prefixDecision, kindExperience: prefixExperience, kindQuestion: prefixQuestion,
		} {
			err := scan(txn, []byte(prefixIndex+kind), nil, false, func(key, _ []byte) (bool, error) {
				at := max(bytes.LastIndexByte(key, '/'), bytes.LastIndexByte(key, 1)) + 1
				if has, err := txn.Get(append([]byte(record), key[at:]...), nil); err != nil || !has {
					t.Errorf("row %q has no record: %v", key, err)
				}
				if kind != kindThread || !strings.HasPrefix(string(key), prefixIndex+kindActiveThread) {
					rows[string(key[len(prefixIndex):at])]++
				}
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return scan(txn, []byte(prefixRowCount), nil, true, func(key, value []byte) (bool, error) {
			n, err := decodeUint64(value)
			counts[string(key[len(prefixRowCount):])] = n
			return true, err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for list, n := range rows {
		if counts[list] != n {
			t.Errorf("list %q has %d rows, its count is %d", list, n, counts[list])
		}
	}
	for list, n := range counts {
		if rows[list] == 0 {
			t.Errorf("list %q has no row, its count is %d", list, n)
		}
	}
}

// liveRandomly puts, changes and removes records of all kinds that are listed.
func liveRandomly(rnd *rand.Rand, tx core.Tx) (err error) {
	pick := func(prefix string) string { return fmt.Sprint(prefix, rnd.IntN(40)) }
	for range 1 + rnd.IntN(20) {
		n := rnd.IntN(40)
		exec := fmt.Sprint("exec_", n%3)
		r := &core.ThreadRecord{Thread: core.Thread{
			ID: fmt.Sprint("thread_", n), ExecutionID: exec, Role: []string{"", "a", "b"}[rnd.IntN(3)],
			AgentType: "claude", Status: core.ThreadStatuses[rnd.IntN(10)],
		}}
		err = errors.Join(err,
			tx.PutThread(r),
			tx.PutWorkspace(&core.Workspace{ID: pick("ws_"), ExecutionID: pick("exec_"), Status: core.WorkspaceStatuses[rnd.IntN(4)]}),
			tx.PutDecision(&core.Decision{Decision: wire.Decision{ID: fmt.Sprint("dec_", n), ExecutionID: exec, ThreadID: pick("thread_"), Category: "c"}, Fingerprint: pick("f")}),
			tx.PutExperience(&core.Experience{Experience: wire.Experience{ID: pick("exp_"), Repo: pick("r"), Outcome: core.ExperienceOutcomes[rnd.IntN(3)]}, Fingerprint: pick("f")}),
			tx.PutQuestion(&core.Question{ID: fmt.Sprint("q_", n), ExecutionID: exec, Status: core.QuestionStatuses[rnd.IntN(4)]}),
			tx.DeleteWorkspace(pick("ws_")),
			tx.DeleteExperience(pick("exp_")),
		)
	}
	return err
}

// Counts and lists agree after any mix of puts and removals, in transactions small and large, also of ones that
// failed, and after the store was opened again in the middle of a large one.
func TestCountsAgree(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	s := mustOpenAt(t, dir)
	rnd := rand.New(rand.NewPCG(15, 16))
	failed := errors.New("failed")
	for i := range 60 {
		err := s.Update(ctx, func(tx core.Tx) error {
			err := liveRandomly(rnd, tx)
			if i%7 == 3 {
				return failed
			}
			return err
		})
		if err != nil && !errors.Is(err, failed) {
			t.Fatal(err)
		}
	}
	checkCounts(t, s)
	large := []byte(strings.Repeat("x", 512<<10)) // fills what Badger takes at once
	err := s.Update(ctx, func(tx core.Tx) error {
		var err error
		for i := range 12 {
			err = errors.Join(err, tx.PutBatchInput("batch_1", i, large), liveRandomly(rnd, tx))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	checkCounts(t, s)
	// A crash in the middle of a large transaction: its first part is applied, then it is applied anew.
	var writes []write
	err = s.update(ctx, false, func(tx *tx) error {
		err := liveRandomly(rnd, tx)
		for _, w := range tx.writes {
			writes = append(writes, write{bytes.Clone(w.key), bytes.Clone(w.value)})
		}
		return errors.Join(err, failed)
	})
	if !errors.Is(err, failed) || len(writes) < 10 {
		t.Fatal(len(writes), err)
	}
	part := append(writes[:len(writes)/2:len(writes)/2], write{[]byte(keyRedo), encodeRedo(writes)})
	if err := commitWrites(s.db, part); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpenAt(t, dir)
	checkCounts(t, s)
	for range 20 {
		if err := s.Update(ctx, func(tx core.Tx) error { return liveRandomly(rnd, tx) }); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		if err := s.removeHeld(ctx, fmt.Sprint("exec_", i)); err != nil {
			t.Fatal(err)
		}
	}
	checkCounts(t, s)
}

func mustOpenAt(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(context.Background(), Options{Path: dir, MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// The front of a queue that was emptied costs nothing: what was deleted is not walked over again.
func TestInputsBeginAtTheFront(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := mustOpenAt(t, t.TempDir())
	const n = 600
	err := s.Update(ctx, func(tx core.Tx) (err error) {
		for i := range n {
			err = errors.Join(err, tx.PutInput(&core.QueuedInput{ThreadID: "thread_1", Number: uint64(i + 1), CreatedAt: time.Unix(0, 0)}))
		}
		return err
	})
	for i := range n {
		err = errors.Join(err, s.Update(ctx, func(tx core.Tx) error { return tx.DeleteInputs("thread_1", uint64(i+1)) }))
		if i%100 == 0 {
			list, listErr := s.QueuedInputs(ctx, "thread_1", 0, 1)
			if listErr != nil || len(list) != 1 || list[0].Number != uint64(i+2) {
				t.Fatalf("after %d: %v, %v", i+1, list, listErr)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	front := number64(t, s, appendInputs(nil, "thread_1"))
	if front != n {
		t.Fatalf("inputs were forgotten up to %d, want %d", front, n)
	}
}

func number64(t *testing.T, s *Store, key []byte) (n uint64) {
	t.Helper()
	err := s.view(context.Background(), func(txn kv.Snapshot) (err error) {
		n, err = number(txn, key)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A page is filled from behind records that cannot be read, and ids that lead to none.
func TestPagesPassOver(t *testing.T) {
	ctx := context.Background()
	s := mustOpenAt(t, t.TempDir())
	ids := core.NewIDs(core.SystemClock{})
	var all []string
	for range 6 {
		id := ids.New(core.PrefixQuestion)
		all = append(all, id)
		err := s.Update(ctx, func(tx core.Tx) error {
			return tx.PutQuestion(&core.Question{ID: id, ExecutionID: "exec_1", Status: core.QuestionOpen})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err := commitWrites(s.db, []write{{[]byte(prefixQuestion + all[4]), []byte("{")}, {key: []byte(prefixQuestion + all[1])}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for page := (core.Page{Limit: 2}); ; {
		list, info, err := s.FindQuestions(ctx, core.QuestionFilter{ExecutionID: "exec_1", Page: page})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range list {
			got = append(got, q.ID)
		}
		if page.Cursor = info.NextCursor; !info.HasMore {
			break
		}
	}
	if want := []string{all[5], all[3], all[2], all[0]}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if broken := s.Broken(); len(broken) != 1 || broken[0].ID != all[4] {
		t.Fatalf("noted: %+v", broken)
	}
}
