package webhook

import (
	"context"
	"errors"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// unsure is a write whose commit failed, and which may be stored all the same. Nothing is written over what it wrote before that is
// known.
type unsure struct {
	stored func(ctx context.Context) (bool, error) // reports whether it is, once the store takes writes
	then   func()                                  // takes over what is stored
}

// landed takes over what a write of records stored that ended with err, or notes that it is in doubt. records is held.
func (s *Service) landed(err error, u *unsure) error {
	switch {
	case err == nil:
		u.then()
	case errors.Is(err, core.ErrInDoubt):
		s.doubted.Store(u)
	}
	return err
}

// clear takes over the write of records that is in doubt, if there is one and it is stored. It fails while that cannot be known.
// records is held.
func (s *Service) clear(ctx context.Context) error {
	_, err := s.cleared(ctx)
	return err
}

// cleared is clear; stored reports whether there was one that is stored.
func (s *Service) cleared(ctx context.Context) (stored bool, err error) {
	u := s.doubted.Load()
	if u == nil {
		return false, nil
	}
	if stored, err = u.known(ctx, s.opts.Store); err == nil {
		s.doubted.Store(nil)
	}
	return stored, err
}

// known takes over what was written, if it is stored. It fails while that cannot be known.
func (u *unsure) known(ctx context.Context, store doubt.Store) (stored bool, err error) {
	if err = core.TakesWrites(ctx, store); err == nil {
		stored, err = u.stored(ctx)
	}
	if err == nil && stored {
		u.then()
	}
	return stored, err
}

// outcome is landed for a caller who waits for a while until it is known whether a write that is in doubt is stored. records is held.
func (s *Service) outcome(err error, u *unsure) error {
	return doubt.Outcome(s.ctx, s.clock, s.opts.Store, s.landed(err, u), s.cleared, pause.For)
}

// clearNow is clear for those who do not hold records. It does nothing unless something is in doubt.
func (s *Service) clearNow(ctx context.Context) error {
	if s.doubted.Load() == nil {
		return nil
	}
	s.records.Lock()
	defer s.records.Unlock()
	return s.clear(ctx)
}

// hasRecord reports whether the record of an endpoint is stored as it is.
func (s *Service) hasRecord(rec *core.WebhookRecord) func(ctx context.Context) (bool, error) {
	want := *rec
	return func(ctx context.Context) (bool, error) {
		list, err := s.opts.Store.AllWebhooks(ctx)
		for _, have := range list {
			if have.ID == want.ID {
				return doubt.Same(have, &want)
			}
		}
		return false, err
	}
}

// lacksRecord reports whether no endpoint of an id is stored.
func (s *Service) lacksRecord(id string) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		list, err := s.opts.Store.AllWebhooks(ctx)
		for _, have := range list {
			if have.ID == id {
				return false, err
			}
		}
		return err == nil, err
	}
}

// hasDelivery reports whether a delivery is stored as it is.
func (s *Service) hasDelivery(d *core.Delivery) func(ctx context.Context) (bool, error) {
	want := *d
	return func(ctx context.Context) (bool, error) {
		have, err := s.opts.Store.FindDelivery(ctx, want.ID)
		if core.ErrorCode(err) == core.CodeNotFound {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		same := have.Status == want.Status && have.Attempts == want.Attempts && have.Manual == want.Manual
		if same && want.Status == core.DeliveryPending {
			same = have.NextAt.Equal(*want.NextAt)
		}
		return same, nil
	}
}
