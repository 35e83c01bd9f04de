package store

import (
	"context"

	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

// Installation returns the id of the installation whose state this is, made by fresh at the first call. It
// travels with dumps: whoever restores one takes over what belongs to the installation.
func (s *Store) Installation(ctx context.Context, fresh func() string) (string, error) {
	var id string
	err := s.view(ctx, func(txn kv.Snapshot) error {
		value, err := get(txn, []byte(keySelf))
		if atrest.Unopened(value) {
			return damaged("id of the installation", keySelf, atrest.ErrUnopened)
		}
		id = string(value)
		return err
	})
	if err != nil || id != "" {
		return id, err // a store that takes no writes knows it too
	}
	err = s.update(ctx, false, func(t *tx) error {
		value, err := t.get([]byte(keySelf))
		if err != nil {
			return err
		}
		if id = string(value); id != "" {
			return nil
		}
		id = fresh()
		return t.set([]byte(keySelf), []byte(id))
	})
	return id, err
}
