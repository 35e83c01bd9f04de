package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

// definitionHeader is the length of the time in front of a stored definition.
const definitionHeader = 8

// PutDefinition implements core.Tx. Putting one that is in use writes nothing, so a caller may put it with
// every execution.
func (t *tx) PutDefinition(hash, source string) error {
	if hash == "" {
		return core.Invalid("hash", "must not be empty")
	}
	if d := t.w.s.state.defs[hash]; d.stored && d.refs > 0 && !t.shrinks && !t.w.shrinks {
		return nil
	}
	value := make([]byte, 0, definitionHeader+len(source))
	value = appendUint64(value, uint64(t.w.s.opts.Clock.Now().UnixMilli()))
	if err := t.set(t.key(prefixDefinition, hash), append(value, source...)); err != nil {
		return err
	}
	t.refer(refDelta{hash: hash, stored: true})
	return nil
}

// FindDefinition implements core.PatternReader.
func (s *Store) FindDefinition(ctx context.Context, hash string) (string, error) {
	var source string
	err := s.view(ctx, func(txn kv.Snapshot) error {
		value, err := get(txn, appendKey(nil, prefixDefinition, hash))
		if err != nil {
			return err
		}
		if value == nil {
			return core.NotFound("definition", hash)
		}
		if len(value) < definitionHeader || atrest.Unopened(value) {
			err := damaged("definition", hash, errRecord)
			asDamage(err).key = appendKey(nil, prefixDefinition, hash)
			return err
		}
		source = string(value[definitionHeader:])
		return nil
	})
	return source, err
}

// AllDefinitions implements core.PatternReader.
func (s *Store) AllDefinitions(ctx context.Context, fn func(source string) error) error {
	return s.view(ctx, func(txn kv.Snapshot) error {
		return scan(txn, []byte(prefixDefinition), nil, true, func(key, value []byte) (bool, error) {
			if len(value) < definitionHeader || atrest.Unopened(value) {
				return s.pass(key, damaged("definition", string(key[len(prefixDefinition):]), errRecord))
			}
			if err := fn(string(value[definitionHeader:])); err != nil {
				return false, err
			}
			return true, ctx.Err()
		})
	})
}
