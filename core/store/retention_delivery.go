package store

import (
	"context"
	"maps"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// retainDeliveryRows is how many deliveries one transaction of retention removes.
const retainDeliveryRows = 500

// retainDeliveries removes deliveries that are over: those whose last attempt was long ago, and of an endpoint that has
// more than keep of them the oldest ones. A zero cutoff and a keep of 0 or less remove none.
func (s *Store) retainDeliveries(ctx context.Context, old cutoff, keep int) (int, error) {
	if old.zero() && keep <= 0 {
		return 0, nil
	}
	var live map[string]uint32
	if err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		live, err = s.webhookNumbers(txn)
		return err
	}); err != nil {
		return 0, err
	}
	removed := 0
	for _, number := range live {
		n, err := s.retainDeliveriesOf(ctx, number, old, keep)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

func (s *Store) retainDeliveriesOf(ctx context.Context, number uint32, old cutoff, keep int) (int, error) {
	bound, future := "", ""
	if !old.before.IsZero() {
		bound = core.IDBound(core.PrefixDelivery, old.before)
		future = core.IDBound(core.PrefixDelivery, old.now.Add(futureAfter))
	}
	over := func(status, _ int) bool { return byte(status) != pendingStatus }
	removed, excess, last := 0, int64(-1), ""
	jumped := false // to the ids of the future
	for more := true; more; {
		var ids []string
		looked := 0
		err := s.view(ctx, func(txn kv.Snapshot) error {
			more = false
			c, err := s.deliveryCounts(txn, number)
			if err != nil {
				return err
			}
			if excess < 0 {
				excess = 0
				if keep > 0 {
					excess = max(c.total(-1, -1)-c.total(int(pendingStatus), -1)-int64(keep), 0)
				}
			}
			return mergeUp(txn, c.lists(number, over), last, func(id string) (bool, error) {
				if looked == retainDeliveryRows {
					more = true
					return false, nil
				}
				if excess > 0 {
					excess--
				} else if id >= bound && !old.dropping() && (future == "" || id < future) {
					if future == "" || jumped {
						return false, nil
					}
					jumped, more, last = true, true, future
					return false, nil
				} else if gone, err := endedBefore(txn, id, old); err != nil || !gone {
					looked, last = looked+1, id
					return s.pass(appendKey(nil, prefixDelivery, id), err)
				}
				ids, looked, last = append(ids, id), looked+1, id
				return true, ctx.Err()
			})
		})
		if err != nil {
			return removed, err
		}
		n, err := s.dropDeliveries(ctx, ids, func(d *core.Delivery, _ uint32) bool { return d.Status != core.DeliveryPending })
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// endedBefore reports whether the last attempt of a delivery that is over was long ago.
func endedBefore(txn kv.Snapshot, id string, old cutoff) (bool, error) {
	d, err := deliveries.read(txn, id)
	if err != nil {
		return false, err
	}
	ended := d.CreatedAt
	if d.Timestamp != nil {
		ended = *d.Timestamp
	}
	return old.passed(ended), nil
}

// dropDeliveries removes those of the deliveries that may go, and tells how many they were.
func (s *Store) dropDeliveries(ctx context.Context, ids []string, ok func(d *core.Delivery, number uint32) bool) (removed int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	err = s.update(ctx, true, func(t *tx) error {
		removed = 0
		for _, id := range ids {
			gone, err := t.dropDelivery(id, ok)
			if err != nil {
				if _, err = s.pass(appendKey(nil, prefixDelivery, id), err); err != nil {
					return err
				}
			}
			if gone {
				removed++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// PurgeDeliveries removes the deliveries of endpoints that were deleted, in small transactions between those of
// others, and tells how many they were. It may be stopped through ctx at any time: it finds what is left by the counts
// of deliveries without an endpoint, so the next call goes on, after a crash as well. Maintenance calls it at its start,
// hourly, and once an endpoint was deleted.
func (s *Store) PurgeDeliveries(ctx context.Context) (int, error) {
	s.retainMu.Lock()
	defer s.retainMu.Unlock()
	return s.purgeDeliveries(ctx)
}

func (s *Store) purgeDeliveries(ctx context.Context) (int, error) {
	var orphans []uint32
	err := s.view(ctx, func(txn kv.Snapshot) error {
		all, err := s.webhookNumbers(txn)
		if err != nil {
			return err
		}
		live := slices.Collect(maps.Values(all))
		return scan(txn, []byte(prefixDeliveryCount), nil, false, func(key, _ []byte) (bool, error) {
			if n := lastUint32(key); !slices.Contains(live, n) {
				orphans = append(orphans, n)
			}
			return true, ctx.Err()
		})
	})
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, number := range orphans {
		n, err := s.purge(ctx, number)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// purge removes the deliveries under the number of an endpoint that is gone for good.
func (s *Store) purge(ctx context.Context, number uint32) (int, error) {
	prefix := appendWebhookLists(nil, number)
	own := func(_ *core.Delivery, n uint32) bool { return n == number }
	removed := 0
	for from := prefix; from != nil; {
		var ids []string
		err := s.view(ctx, func(txn kv.Snapshot) error {
			seek := from
			from = nil
			return scan(txn, prefix, seek, false, func(key, _ []byte) (bool, error) {
				if len(ids) == retainDeliveryRows {
					from = slices.Clone(key)
					return false, nil
				}
				ids = append(ids, string(key[len(prefix)+2:]))
				return true, ctx.Err()
			})
		})
		if err != nil {
			return removed, err
		}
		n, err := s.dropDeliveries(ctx, ids, own)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	s.floors.forget(number)
	return removed, nil
}

// neededEvents returns the sequences of the events that deliveries still need, ascending: those that wait for an
// attempt, and those that failed, which may be retried by hand. A delivery that is in neither state never comes back to
// one, and a new one is of an event that is not behind its dispatcher's cursor yet: what is not in the answer, and
// behind the slowest cursor of the same snapshot, is needed by none ever after.
func (s *Store) neededEvents(ctx context.Context, txn kv.Snapshot) ([]uint64, error) {
	live, err := s.webhookNumbers(txn)
	if err != nil {
		return nil, err
	}
	open := func(status, _ int) bool { return needsEvent(core.DeliveryStatuses[status]) }
	var needed []uint64
	for _, number := range live {
		c, err := s.deliveryCounts(txn, number)
		if err != nil {
			return nil, err
		}
		for _, prefix := range c.lists(number, open) {
			err := scan(txn, prefix, nil, true, func(key, value []byte) (bool, error) {
				if len(value) == 0 {
					return true, nil
				}
				seq, err := decodeUint64(value)
				if err != nil {
					return s.pass(key, damaged("place of a delivery", string(key[len(prefix):]), err))
				}
				needed = append(needed, seq)
				return true, ctx.Err()
			})
			if err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(needed)
	return slices.Compact(needed), nil
}
