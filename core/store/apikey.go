package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

var apiKeys = &table[core.APIKeyRecord]{
	prefix: prefixAPIKey, kind: "API key", lists: kindAPIKey, idPrefix: core.PrefixAPIKey,
	facets:  func(k *core.APIKeyRecord) []facet { return []facet{{'o', k.Owner}} },
	creator: func(k *core.APIKeyRecord) string { return k.CreatedBy },
	print:   func(k *core.APIKeyRecord) []byte { return appendKey(nil, prefixAPIKeyName, k.Name) },
}

// PutAPIKey implements core.APIKeyTx. A key never changes its name.
func (t *tx) PutAPIKey(k *core.APIKeyRecord) error {
	switch {
	case k.ID == "":
		return core.Invalid("id", "must not be empty")
	case k.Name == "" || k.Owner == "":
		return core.Invalid("name", "must not be empty, nor must the owner")
	}
	old, err := apiKeys.get(t, k.ID)
	if err != nil {
		return err
	}
	if old != nil && old.Name != k.Name {
		return core.Invalid("name", "is not the one that the key was stored with")
	}
	return apiKeys.put(t, k.ID, old, k)
}

// FindAPIKey implements core.APIKeyTx.
func (t *tx) FindAPIKey(id string) (*core.APIKeyRecord, error) { return apiKeys.find(t, id) }

// APIKeyNamed implements core.APIKeyTx.
func (t *tx) APIKeyNamed(name string) (*core.APIKeyRecord, error) {
	return apiKeys.same(t, appendKey(nil, prefixAPIKeyName, name))
}

// DeleteAPIKey implements core.APIKeyTx.
func (t *tx) DeleteAPIKey(id string) error { return apiKeys.drop(t, id) }

// FindAPIKey implements core.APIKeyReader.
func (s *Store) FindAPIKey(ctx context.Context, id string) (*core.APIKeyRecord, error) {
	return apiKeys.one(ctx, s, id)
}

// FindAPIKeys implements core.APIKeyReader.
func (s *Store) FindAPIKeys(ctx context.Context, filter core.APIKeyFilter) ([]*core.APIKeyRecord, core.PageInfo, error) {
	wanted := new(core.APIKeyRecord)
	wanted.Owner, wanted.CreatedBy = filter.Owner, filter.CreatedBy
	return apiKeys.page(ctx, s, filter.Page, wanted)
}
