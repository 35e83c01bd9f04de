package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// A store of schema 1 has every list and count of questions after its migration, at whatever commit that was killed
// before, whether or not the commit had reached the disk, and whatever a program of the former version did meanwhile.
func TestListQuestions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	made := func(former bool) *memory.DB {
		t.Helper()
		db := memory.New()
		s, err := OpenOn(ctx, db, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			q := &core.Question{
				ID: fmt.Sprintf("q_%03d", i), ExecutionID: fmt.Sprintf("exec_%d", i%40), Status: core.QuestionStatuses[i%len(core.QuestionStatuses)],
			}
			if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutQuestion(q) }); err != nil {
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
			{[]byte(prefixQuestion + "q_bad"), []byte("{")},
			{[]byte("ix/q/q_gone"), []byte{}}, // of a migration that was killed, whose question went since
			{[]byte("n/qx/exec_gone\x00\x01"), appendUint64(nil, 7)},
		}
		for key := range keysOf(t, db) {
			if bytes.HasPrefix([]byte(key), []byte("ix/q/")) || bytes.HasPrefix([]byte(key), []byte("n/q")) {
				writes = append(writes, write{key: []byte(key)})
			}
		}
		if err := errors.Join(commitWrites(db, writes), writeSchema(db, 1)); err != nil {
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
			s, err := OpenOn(ctx, db, Options{})
			if n > 0 && err != nil {
				s, err = OpenOn(ctx, db, Options{})
			}
			if err != nil {
				t.Fatal(err)
			}
			_, info, err := s.FindQuestions(ctx, core.QuestionFilter{ExecutionID: "exec_3", Status: core.QuestionStatuses[3]})
			if err := errors.Join(err, s.Close()); err != nil || info.Total != 8 {
				t.Fatalf("%+v, %v", info, err)
			}
			got := keysOf(t, db)
			delete(got, keyClock)
			delete(got, prefixQuestion+"q_bad")
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

func keysOf(t *testing.T, db kv.DB) map[string]string {
	t.Helper()
	txn := db.Snapshot()
	defer txn.Discard()
	keys := map[string]string{}
	err := scan(txn, nil, nil, true, func(key, value []byte) (bool, error) {
		keys[string(key)] = string(value)
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
