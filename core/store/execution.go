package store

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// executions has the records. What follows from them is moved by moveIndexes, by what the writer has in memory.
var executions = &table[core.Execution]{prefix: prefixExecution, kind: "execution", idPrefix: core.PrefixExecution}

// PutExecution implements core.Tx.
func (t *tx) PutExecution(e *core.Execution) error {
	if e.ID == "" {
		return core.Invalid("id", "must not be empty")
	}
	if statusIndex(e.Status) < 0 {
		return core.Invalid("status", "%q is not an execution status", e.Status)
	}
	if !utf8.ValidString(e.Pattern.Name) {
		return core.Invalid("pattern", "is not valid UTF-8")
	}
	if name := e.Pattern.Name; len(name) > maxKey/4 { // of the key that it is in once it ended
		if err := checkKey(appendBothIndex(nil, name, string(core.ExecutionCompleted), e.ID)); err != nil {
			return err
		}
	}
	old, err := t.execState(e.ID)
	if err != nil {
		return err
	}
	state := execState{pattern: e.Pattern.Name, status: e.Status, refs: old.refs, facts: factsOf(e)}
	if !sameRefs(old.refs, e) {
		state.refs = refsOf(e)
	}
	if err := t.moveIndexes(e.ID, old, state, e); err != nil {
		return err
	}
	if encoded := e.Encoded(); encoded != nil && depth(encoded) <= maxDepth {
		return t.set(t.key(prefixExecution, e.ID), encoded)
	}
	return executions.put(t, e.ID, nil, e)
}

// moveIndexes writes what follows from an execution's change of state: index entries, counters and
// references. A new state that does not exist removes all; e is the execution in its new state.
func (t *tx) moveIndexes(id string, old, state execState, e *core.Execution) error {
	if old.equal(state) {
		return nil
	}
	refiled := !old.facts.equal(&state.facts)
	if refiled || old.exists() != state.exists() {
		if err := t.moveFacts(id, &old.facts, &state.facts); err != nil {
			return err
		}
	}
	moved := old.pattern != state.pattern || old.status != state.status // one that does not exist has no status
	if moved && old.status.Terminal() {
		t.delete(t.take(func(b []byte) []byte { return appendStatusIndex(b, string(old.status), id) }))
		t.delete(t.take(func(b []byte) []byte { return appendBothIndex(b, old.pattern, string(old.status), id) }))
	}
	switch {
	case state.active():
		value := t.take(func(b []byte) []byte { return appendRow(appendActive(b, state), e) })
		if err := t.set(t.key(prefixActive, id), value); err != nil {
			return err
		}
	case old.active():
		t.delete(t.key(prefixActive, id))
	}
	if (moved || refiled) && state.status.Terminal() {
		row := t.take(func(b []byte) []byte { return appendRow(b, e) })
		if err := t.set(t.take(func(b []byte) []byte { return appendStatusIndex(b, string(state.status), id) }), row); err != nil {
			return err
		}
		key := t.take(func(b []byte) []byte { return appendBothIndex(b, state.pattern, string(state.status), id) })
		if err := t.set(key, nil); err != nil {
			return err
		}
	}
	for _, hash := range state.refs {
		if !slices.Contains(old.refs, hash) {
			t.refer(refDelta{hash: hash, by: 1})
		}
	}
	for _, hash := range old.refs {
		if !slices.Contains(state.refs, hash) {
			t.refer(refDelta{hash: hash, by: -1})
		}
	}
	t.change(execChange{id: id, old: old, new: state, spans: spansOf(old, state, e)})
	return nil
}

// execState finds an execution's state as the closure sees it. Memory answers for all but executions that
// ended, so the usual path reads nothing from disk.
func (t *tx) execState(id string) (execState, error) {
	for i := len(t.changes) - 1; i >= 0; i-- {
		if t.changes[i].id == id {
			return t.changes[i].new, nil
		}
	}
	if s, ok := t.w.latest[id]; ok {
		return s, nil
	}
	if s, ok := t.w.s.state.active[id]; ok { // only this goroutine changes it
		return s, nil
	}
	if id > t.w.maxID {
		return execState{}, nil
	}
	e, err := executions.get(t, id)
	if err != nil || e == nil {
		return execState{}, err
	}
	return stateOf(e), nil
}

func stateOf(e *core.Execution) execState {
	return execState{pattern: e.Pattern.Name, status: e.Status, refs: refsOf(e), facts: factsOf(e)}
}

// refsOf lists the definitions that an execution needs, sorted, without doubles.
func refsOf(e *core.Execution) []string {
	var refs []string
	if e.Hash != "" {
		refs = append(refs, e.Hash)
	}
	for _, hash := range e.Pins {
		if hash != "" {
			refs = append(refs, hash)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// sameRefs tells cheaply that an execution without composed patterns refers to what it did before.
func sameRefs(refs []string, e *core.Execution) bool {
	return len(e.Pins) == 0 && e.Hash != "" && len(refs) == 1 && refs[0] == e.Hash
}

// FindExecution implements core.Tx.
func (t *tx) FindExecution(id string) (*core.Execution, error) { return executions.find(t, id) }

// FindExecution implements core.ExecutionReader.
func (s *Store) FindExecution(ctx context.Context, id string) (*core.Execution, error) {
	return executions.one(ctx, s, id)
}

// ActiveExecutions implements core.ExecutionReader.
func (s *Store) ActiveExecutions(ctx context.Context) ([]*core.Execution, error) {
	var list []*core.Execution
	err := s.view(ctx, func(txn kv.Snapshot) error {
		return executions.indexed(ctx, s, txn, []byte(prefixActive), func(_ string, e *core.Execution) error {
			list = append(list, e)
			return nil
		})
	})
	return list, err
}

// CountExecutions implements core.ExecutionReader. It reads memory only.
func (s *Store) CountExecutions(ctx context.Context) (map[string]map[core.ExecutionStatus]int, error) {
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	s.state.mu.RLock()
	defer s.state.mu.RUnlock()
	counts := make(map[string]map[core.ExecutionStatus]int, len(s.state.counts))
	for pattern, c := range s.state.counts {
		row := map[core.ExecutionStatus]int{}
		for i, n := range c {
			if n > 0 {
				row[core.ExecutionStatuses[i]] = int(n)
			}
		}
		counts[pattern] = row
	}
	return counts, nil
}
