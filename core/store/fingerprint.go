package store

import (
	"bytes"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
)

// A fingerprint leads to the record that said the same before. When two records have one, it leads to the one that
// was put last.

// fingerprint makes key lead to the record id instead of old. Either key may be nil: there is none.
func (t *tx) fingerprint(id string, old, key []byte) error {
	if bytes.Equal(old, key) {
		return nil
	}
	if old != nil {
		owner, err := t.get(old)
		if err != nil {
			return err
		}
		if string(owner) == id {
			t.delete(old)
		}
	}
	if key == nil {
		return nil
	}
	if !utf8.Valid(key) { // JSON would not give it back
		return core.Invalid("fingerprint", "is not valid UTF-8")
	}
	return t.set(key, []byte(id))
}
