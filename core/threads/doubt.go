package threads

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// settled returns what became of a transaction: err as it is, unless it says that this is in doubt. Then it waits until the store
// takes writes again, and returns nil if stored reports that it is stored.
func (s *Service) settled(err error, stored func(ctx context.Context) (bool, error)) error {
	if !errors.Is(err, core.ErrInDoubt) {
		return err
	}
	var retry pause.Backoff
	for {
		asked := core.TakesWrites(s.ctx, s.opts.Store)
		if asked == nil {
			is := false
			if is, asked = stored(s.ctx); asked == nil && is {
				return nil
			}
		}
		if asked == nil || !core.AsError(asked).Unavailable || !s.pause(s.ctx, retry.Next()) {
			return err
		}
	}
}

// hasThread reports whether a thread is stored.
func (s *Service) hasThread(id string) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		_, err := s.opts.Store.FindThread(ctx, id)
		if core.ErrorCode(err) == core.CodeNotFound {
			return false, nil
		}
		return err == nil, err
	}
}

// landed reports whether the change is what is stored of its thread.
func (c *change) landed(ctx context.Context) (bool, error) {
	stored, err := c.t.s.opts.Store.FindThread(ctx, c.t.id)
	if err != nil {
		return false, err
	}
	is, err := json.Marshal(stored)
	if err != nil {
		return false, err
	}
	want, err := json.Marshal(c.rec)
	if err != nil {
		return false, err
	}
	var x, y any // what metadata holds may be of another type
	if err := errors.Join(json.Unmarshal(is, &x), json.Unmarshal(want, &y)); err != nil {
		return false, err
	}
	return reflect.DeepEqual(x, y), nil
}
