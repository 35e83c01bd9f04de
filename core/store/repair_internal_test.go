package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// A check lists each broken record and changes nothing; a repair exports and removes them with what belongs to them, and
// leaves a store in which all that is well is as it was.
func TestRepair(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := coretest.NewClock()
	dir := t.TempDir()
	opts := Options{Path: dir, MinFreeBytes: 1 << 20, Clock: clock}
	s, err := Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	p := seedPoison(t, s, clock.Now())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := Check(ctx, CheckOptions{Path: dir}); err != nil || !r.Well() || r.Records == 0 {
		t.Fatalf("a store that is well: %+v, %v", r, err)
	}
	if s, err = Open(ctx, opts); err != nil {
		t.Fatal(err)
	}
	p.spoil(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the first one changed nothing
		var found []string
		primary := 0
		r, err := Check(ctx, CheckOptions{Path: dir, Found: func(f Finding) {
			found = append(found, string(f.RawKey))
			if f.Kind == "" || f.ID == "" || f.Reason == "" {
				t.Errorf("%+v", f.BrokenRecord)
			}
		}})
		if err != nil || r.Well() || int(r.Broken) != len(found) || r.Entries == 0 {
			t.Fatalf("%+v, %v, %d found", r, err, len(found))
		}
		for _, key := range p.keys {
			if isDerived(key) {
				continue
			}
			if primary++; !slices.Contains(found, string(key)) {
				t.Errorf("%q is not found", key)
			}
		}
		if primary != len(found) {
			t.Errorf("%d found, want %d: %q", len(found), primary, found)
		}
	}

	var export bytes.Buffer
	kept := errors.New("disk full")
	if _, err := Repair(ctx, CheckOptions{Path: dir}, &export, func() error { return kept }); !errors.Is(err, kept) {
		t.Fatalf("a repair whose export was not kept: %v", err)
	}
	export.Reset()
	r, err := Repair(ctx, CheckOptions{Path: dir}, &export, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	in := bufio.NewScanner(&export)
	in.Buffer(nil, 1<<20)
	for ; in.Scan(); lines++ {
		var f Finding
		if err := json.Unmarshal(in.Bytes(), &f); err != nil || len(f.Value) == 0 {
			t.Errorf("%s: %v", in.Bytes(), err)
		}
	}
	if lines != int(r.Broken) {
		t.Errorf("%d records exported, %d removed", lines, r.Broken)
	}
	if r, err := Check(ctx, CheckOptions{Path: dir}); err != nil || !r.Well() {
		t.Fatalf("after the repair: %+v, %v", r, err)
	}
	if s, err = Open(ctx, opts); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if n := len(s.Broken()); n > 0 {
		t.Errorf("%d notes are left", n)
	}
	if _, err := s.FindExecution(ctx, p.bad[core.PrefixExecution]); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("the broken execution: %v", err)
	}
	if _, err := s.FindExecution(ctx, p.good[core.PrefixExecution]); err != nil {
		t.Errorf("the other execution: %v", err)
	}
	if list, info, err := s.FindThreads(ctx, core.ThreadFilter{}); err != nil || len(list) != 1 || info.Total != 1 {
		t.Errorf("threads: %d of %d, %v", len(list), info.Total, err)
	}
	counts, err := s.CountExecutions(ctx)
	if err != nil || len(counts) != 1 || counts[p.good["pattern"]][core.ExecutionRunning] != 1 {
		t.Errorf("counts: %v, %v", counts, err)
	}
	due, err := s.DueDeliveries(ctx, p.good[core.PrefixWebhook], time.Time{}, "", 10)
	if err != nil || len(due) != 1 {
		t.Errorf("due: %d, %v", len(due), err)
	}
}
