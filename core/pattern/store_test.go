package pattern_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/storetest"
)

var errDisk = errors.New("disk")

// memory is a store in memory that counts what is read, and may lose definitions.
type memory struct {
	*storetest.Memory
	reads  atomic.Int64      // FindDefinition calls
	trip   int               // the call of a transaction that fails, counted from 1; 0: none
	damage map[string]string // what definitions are by their hash in place of what they were; "": not there
}

func newMemory(tb testing.TB) *memory { return &memory{Memory: storetest.NewMemory(tb)} }

func (m *memory) Update(ctx context.Context, fn func(core.Tx) error) error {
	return m.Memory.Update(ctx, func(tx core.Tx) error { return fn(&tripping{tx, m.trip}) })
}

func (m *memory) FindDefinition(ctx context.Context, hash string) (string, error) {
	m.reads.Add(1)
	if source, damaged := m.damage[hash]; damaged && source != "" {
		return source, nil
	} else if damaged {
		return "", core.NotFound("definition", hash)
	}
	return m.Memory.FindDefinition(ctx, hash)
}

// tripping is a transaction of which one call fails, of those that patterns need.
type tripping struct {
	core.Tx
	left int
}

// step counts a call, and fails if it is the one to trip over.
func (t *tripping) step() error {
	if t.left--; t.left == 0 {
		return errDisk
	}
	return nil
}

func (t *tripping) PutPattern(p *core.Pattern) error {
	return errors.Join(t.step(), t.Tx.PutPattern(p))
}

func (t *tripping) DeletePattern(name, version string) error {
	return errors.Join(t.step(), t.Tx.DeletePattern(name, version))
}

func (t *tripping) FindPatternVersions(name string) ([]*core.Pattern, error) {
	if err := t.step(); err != nil {
		return nil, err
	}
	return t.Tx.FindPatternVersions(name)
}

func (t *tripping) PutDefinition(hash, source string) error {
	return errors.Join(t.step(), t.Tx.PutDefinition(hash, source))
}

func (t *tripping) Append(events ...core.Event) error {
	return errors.Join(t.step(), t.Tx.Append(events...))
}

func (t *tripping) ClaimIdempotency(claim *core.IdempotencyClaim, resourceID string, now time.Time) error {
	if err := t.step(); err != nil {
		return err
	}
	return t.Tx.ClaimIdempotency(claim, resourceID, now)
}
