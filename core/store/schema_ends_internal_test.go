package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// A store of schema 6 has the lists by when executions ended after its migration, by rows of the former version and by records where
// there is no row, at whatever commit that was killed before. Rows of the former version are no damage.
func TestListEnds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := coretest.NewClock()
	db := memory.New()
	s, err := OpenOn(ctx, db, Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	at := clock.Now()
	var writes []write
	for i := range 30 {
		ended := at.Add(time.Duration(i) * time.Second)
		e := &core.Execution{ID: fmt.Sprintf("exec_%03d", 30-i), Status: core.ExecutionStatuses[i%5], Pattern: core.PatternRef{Name: "vote", Version: "1"}, Hash: "h", CreatedAt: at}
		if e.Status.Terminal() {
			e.CompletedAt = &ended
		}
		if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutExecution(e) }); err != nil {
			t.Fatal(err)
		}
		former := appendRow(nil, e)
		former = append([]byte{rowVersionTeamless}, former[1:len(former)-2]...) // without its agents, of which there are none
		key := appendStatusIndex(nil, string(e.Status), e.ID)
		if !e.Status.Terminal() {
			key, former = appendKey(nil, prefixActive, e.ID), append(appendActive(nil, stateOf(e)), former...)
		} else if i%2 == 0 {
			former = []byte{}
		}
		writes = append(writes, write{key, former})
		if f := factsOf(e); f.ended != 0 {
			writes = append(writes, write{key: append(appendEndIndex(nil, f.endedAs, f.ended), e.ID...)})
		}
	}
	writes = append(writes, write{append(appendEndIndex(nil, core.ExecutionFailed, at.UnixMilli()), "exec_gone"...), []byte{}}) // of a migration that was killed
	if err := errors.Join(s.Close(), commitWrites(db, writes), writeSchema(db, 6)); err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		db := db.Copy()
		db.Fail(n, n%2 == 0)
		s, err := OpenOn(ctx, db, Options{Clock: clock})
		if err != nil {
			s, err = OpenOn(ctx, db, Options{Clock: clock})
		}
		if err != nil {
			t.Fatal(err)
		}
		list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{
			Statuses: []core.ExecutionStatus{core.ExecutionFailed}, EndedSince: at.Add(10 * time.Second), EndedUntil: at.Add(28 * time.Second),
		})
		if err != nil || info.Total != 3 || list[0].ID != "exec_017" || list[0].CompletedAt == nil || list[0].Pattern.Name != "vote" {
			t.Fatalf("%d: %+v, %v", info.Total, list, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A row of the former version, which tells no agents, is the one that follows from its record; another one is not.
func TestFormerRowIsTheSame(t *testing.T) {
	e := &core.Execution{ID: "exec_1", Status: core.ExecutionFailed, Pattern: core.PatternRef{Name: "vote", Version: "1"}, Agents: []core.AgentResult{{ID: "agent_1", Name: "ada"}}}
	teamless := *e
	teamless.Agents = nil
	row := appendRow(nil, &teamless)
	former := append([]byte{rowVersionTeamless}, row[1:len(row)-2]...)
	active := appendActive(nil, execState{pattern: "vote", status: core.ExecutionRunning})
	for _, c := range []struct{ key, state []byte }{{appendStatusIndex(nil, "failed", "exec_1"), nil}, {appendKey(nil, prefixActive, "exec_1"), active}} {
		with := func(row []byte) []byte { return append(append([]byte{}, c.state...), row...) }
		if !sameEntry(c.key, with(former), with(appendRow(nil, e))) {
			t.Errorf("%q: a former row is taken for damage", c.key)
		}
		e.Pattern.Version = "2"
		if sameEntry(c.key, with(former), with(appendRow(nil, e))) {
			t.Errorf("%q: a row of another record is taken for its own", c.key)
		}
		e.Pattern.Version = "1"
	}
}
