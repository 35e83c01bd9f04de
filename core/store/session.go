package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

var sessions = &table[core.SessionRecord]{
	prefix: "s/", kind: "session", lists: "s", idPrefix: core.PrefixSession,
	facets: func(r *core.SessionRecord) []facet { return []facet{{'u', r.User}} },
}

// PutSession implements core.SessionTx.
func (t *tx) PutSession(r *core.SessionRecord) error {
	if r.User == "" {
		return core.Invalid("user", "must not be empty")
	}
	return sessions.save(t, r.ID, r)
}

// FindSession implements core.SessionTx.
func (t *tx) FindSession(id string) (*core.SessionRecord, error) { return sessions.find(t, id) }

// DeleteSession implements core.SessionTx.
func (t *tx) DeleteSession(id string) error { return sessions.drop(t, id) }

// FindSession implements core.SessionReader.
func (s *Store) FindSession(ctx context.Context, id string) (*core.SessionRecord, error) {
	return sessions.one(ctx, s, id)
}

// FindSessions implements core.SessionReader.
func (s *Store) FindSessions(ctx context.Context, filter core.SessionFilter) ([]*core.SessionRecord, core.PageInfo, error) {
	wanted := new(core.SessionRecord)
	wanted.User = filter.User
	return sessions.page(ctx, s, filter.Page, wanted)
}
