package store

import (
	"context"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

// Installation returns the id of the installation whose state this is, made by fresh at the first call. It
// travels with dumps: whoever restores one takes over what belongs to the installation. One that cannot be read is made
// anew, so that it keeps nothing from starting: what belonged to it is found to be lost then.
func (s *Store) Installation(ctx context.Context, fresh func() string) (string, error) {
	var id string
	err := s.view(ctx, func(txn kv.Snapshot) error {
		value, err := get(txn, []byte(keySelf))
		if err != nil || value == nil {
			return err
		}
		id, err = decodeInstallation(value)
		if err != nil {
			_, err = s.pass([]byte(keySelf), err)
		}
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
		if value != nil {
			if id, err = decodeInstallation(value); err == nil {
				return nil
			}
		}
		id = fresh()
		return t.set([]byte(keySelf), []byte(id))
	})
	return id, err
}

func decodeInstallation(value []byte) (string, error) {
	if atrest.Unopened(value) {
		return "", damaged("id of the installation", keySelf, atrest.ErrUnopened)
	}
	id := string(value)
	if !strings.HasPrefix(id, core.PrefixInstall) || printable(value) != id {
		return "", damaged("id of the installation", keySelf, errRecord)
	}
	return id, nil
}
