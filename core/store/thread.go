package store

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// threads has the records without their context files. Their lists are moved by moveThread, as they follow from a state.
var threads = &table[core.ThreadRecord]{prefix: prefixThread, kind: "thread", idPrefix: core.PrefixThread}

// threadState is what PutThread must know of the thread before, to move its index entries without a look at the
// whole record. The zero value means that there is none.
type threadState struct {
	status                       core.ThreadStatus
	executionID, role, agentType string
	files                        uint64 // sum of the context files, which are stored apart; 0 for none
	creator                      string
}

func threadStateOf(r *core.ThreadRecord) threadState {
	return threadState{
		status: r.Status, executionID: r.ExecutionID, role: r.Role, agentType: r.AgentType,
		files: sumFiles(r.Preparation.ContextFiles), creator: r.CreatedBy,
	}
}

func (s threadState) exists() bool { return s.status != "" }

// facets are the lists that the thread is in. The status is part of them only once it does not change any more:
// lists of a status of active threads look at the states of all active threads.
func (s threadState) facets() []facet {
	if !s.exists() {
		return nil
	}
	status := s.status
	if !status.Terminal() {
		status = ""
	}
	return threadFacets(core.ThreadFilter{ExecutionID: s.executionID, Status: status, Role: s.role, AgentType: s.agentType})
}

// activeFacets are the lists of active threads that the thread is in.
func (s threadState) activeFacets() []facet {
	if !s.exists() || s.status.Terminal() {
		return nil
	}
	return activeFacets(s.executionID)
}

func threadFacets(f core.ThreadFilter) []facet {
	return []facet{{'x', f.ExecutionID}, {'s', string(f.Status)}, {'r', f.Role}, {'t', f.AgentType}}
}

func activeFacets(executionID string) []facet { return []facet{{'x', executionID}} }

// PutThread implements core.Tx. A thread never changes its execution. It is put with every event of its agent, so what
// is large and stays as it is, the context files, is not part of the record.
func (t *tx) PutThread(r *core.ThreadRecord) error {
	switch {
	case r.ID == "":
		return core.Invalid("id", "must not be empty")
	case r.ExecutionID == "":
		return core.Invalid("executionId", "must not be empty")
	case !slices.Contains(core.ThreadStatuses, r.Status):
		return core.Invalid("status", "%q is not a status of a thread", r.Status)
	}
	old, err := t.threadState(r.ID)
	if err != nil {
		return err
	}
	if old.exists() && old.executionID != r.ExecutionID {
		return core.Invalid("executionId", "is not the one that the thread was stored with")
	}
	fresh := threadStateOf(r)
	if err := t.putFiles(r, old.files, fresh.files); err != nil {
		return err
	}
	rest := *r
	rest.Preparation.ContextFiles = nil
	if err := t.setJSON(t.key(prefixThread, r.ID), &rest); err != nil {
		return err
	}
	return t.moveThread(r.ID, old, fresh)
}

// moveThread writes what follows from a thread's change of state. A new state that does not exist removes all.
func (t *tx) moveThread(id string, old, fresh threadState) error {
	if old == fresh {
		return nil
	}
	key := t.key(prefixThreadState, id)
	if !fresh.exists() {
		t.delete(key)
	} else if err := t.set(key, t.take(func(b []byte) []byte { return appendThreadState(b, fresh) })); err != nil {
		return err
	}
	if err := t.recreate(kindThread, id, old.creator, fresh.creator); err != nil {
		return err
	}
	if err := t.relist(kindThread, id, old.facets(), fresh.facets()); err != nil {
		return err
	}
	return t.relist(kindActiveThread, id, old.activeFacets(), fresh.activeFacets())
}

// dropThread removes the record of a thread that is over, and its index entries.
func (t *tx) dropThread(id string) error {
	old, err := t.threadState(id)
	if err != nil || !old.status.Terminal() {
		return err
	}
	if err := t.moveThread(id, old, threadState{}); err != nil {
		return err
	}
	t.delete(t.key(prefixThread, id))
	t.delete(t.key(prefixThreadFiles, id))
	return nil
}

func (t *tx) threadState(id string) (threadState, error) {
	value, err := t.get(t.key(prefixThreadState, id))
	if err != nil || value == nil {
		return threadState{}, err
	}
	state, err := readThreadState(id, value)
	if err == nil {
		return state, nil
	}
	// The record says it again, but for the sum of its files, which are then written once more.
	r, err := threads.find(t, id)
	if err != nil {
		return threadState{}, err
	}
	return threadStateOf(r), nil
}

func readThreadState(id string, value []byte) (threadState, error) {
	s, err := decodeThreadState(value)
	if err != nil {
		return s, damaged("state of thread", id, err)
	}
	return s, nil
}

// FindThread implements core.Tx.
func (t *tx) FindThread(id string) (*core.ThreadRecord, error) {
	r, err := threads.find(t, id)
	if err != nil {
		return nil, err
	}
	files, err := t.get(t.key(prefixThreadFiles, id))
	if err != nil {
		return nil, err
	}
	return r, takeFiles(r, files)
}

// CountActiveThreads implements core.Tx.
func (t *tx) CountActiveThreads(executionID string) (int, error) {
	n, err := t.rowCount(t.take(func(b []byte) []byte { return appendActiveThreads(b, executionID) }))
	return int(n), err
}

// appendActiveThreads makes the key of the number of active threads; of all executions with "".
func appendActiveThreads(dst []byte, executionID string) []byte {
	facets := activeFacets(executionID)
	return appendList(dst, prefixRowCount, kindActiveThread, facets, selected(facets))
}

// FindThread implements core.ThreadReader.
func (s *Store) FindThread(ctx context.Context, id string) (*core.ThreadRecord, error) {
	var r *core.ThreadRecord
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		r, err = readThread(txn, id)
		return err
	})
	return r, err
}

func readThread(txn kv.Snapshot, id string) (*core.ThreadRecord, error) {
	r, err := threads.read(txn, id)
	if err == nil {
		err = withFiles(txn, id, r)
	}
	return r, err
}

// withFiles reads the context files of a thread into its record.
func withFiles(txn kv.Snapshot, id string, r *core.ThreadRecord) error {
	files, err := get(txn, appendKey(nil, prefixThreadFiles, id))
	if err != nil {
		return err
	}
	return takeFiles(r, files)
}

// FindThreads implements core.ThreadReader. Rows have no context files. A list of a status of active threads looks at the states of all active
// threads, or of those of the execution; every other one walks an index of just the rows that match.
func (s *Store) FindThreads(ctx context.Context, filter core.ThreadFilter) ([]*core.ThreadRecord, core.PageInfo, error) {
	if filter.Status != "" && !slices.Contains(core.ThreadStatuses, filter.Status) {
		return nil, core.PageInfo{}, core.Invalid("status", "%q is not a status of a thread", filter.Status)
	}
	if err := checkCreator(filter.CreatedBy); err != nil {
		return nil, core.PageInfo{}, err
	}
	facets := threadFacets(filter)
	if filter.Status == "" || filter.Status.Terminal() {
		q := s.listOf(kindThread, facets, nil, filter.Page)
		return threads.query(ctx, s, madeBy(ctx, q, kindThread, facets, filter.CreatedBy), threads.read)
	}
	also := append(slices.Clone(facets), creatorFacet(filter.CreatedBy)...)
	q := s.listOf(kindActiveThread, activeFacets(filter.ExecutionID), also, filter.Page)
	q.ids = func(txn kv.Snapshot) (idWalk, int, error) {
		ids, err := s.activeThreadIDs(ctx, txn, filter)
		return walkIDs(ids), len(ids), err
	}
	return threads.query(ctx, s, q, threads.read)
}

// activeThreadIDs returns the ids of the active threads that match, in ascending order.
func (s *Store) activeThreadIDs(ctx context.Context, txn kv.Snapshot, filter core.ThreadFilter) (ids []string, err error) {
	facets := activeFacets(filter.ExecutionID)
	prefix := appendList(nil, prefixIndex, kindActiveThread, facets, selected(facets))
	err = scan(txn, prefix, nil, false, func(key, _ []byte) (bool, error) {
		id := string(key[len(prefix):])
		value, err := get(txn, appendKey(nil, prefixThreadState, id))
		if err != nil || value == nil {
			return err == nil, err
		}
		state, err := readThreadState(id, value)
		if err != nil {
			return s.pass(appendKey(nil, prefixThreadState, id), err)
		}
		if state.status == filter.Status && (filter.Role == "" || state.role == filter.Role) &&
			(filter.AgentType == "" || state.agentType == filter.AgentType) &&
			(filter.CreatedBy == "" || state.creator == filter.CreatedBy) {
			ids = append(ids, id)
		}
		return true, ctx.Err()
	})
	return ids, err
}

// ActiveThreads implements core.ThreadReader.
func (s *Store) ActiveThreads(ctx context.Context) ([]*core.ThreadRecord, error) {
	var list []*core.ThreadRecord
	err := s.view(ctx, func(txn kv.Snapshot) error {
		index := appendList(nil, prefixIndex, kindActiveThread, activeFacets(""), 0)
		return threads.indexed(ctx, s, txn, index, func(id string, r *core.ThreadRecord) error {
			if err := withFiles(txn, id, r); err != nil {
				return err
			}
			list = append(list, r)
			return nil
		})
	})
	return list, err
}
