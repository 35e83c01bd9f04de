package store

import (
	"context"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// deliveries has the records, which are not JSON. Their lists are moved by moveDelivery: there may be millions.
var deliveries = &table[deliveryRecord]{prefix: prefixDelivery, kind: "delivery", idPrefix: core.PrefixDelivery, decode: decodeDelivery}

// PutDelivery implements core.Tx. A delivery never changes its endpoint, event or test mark. A pending one has a
// NextAt; one that succeeded or was cancelled is not made pending again (CONFLICT), because its event may be gone.
func (t *tx) PutDelivery(d *core.Delivery) error {
	switch {
	case d.ID == "":
		return core.Invalid("id", "must not be empty")
	case d.WebhookID == "":
		return core.Invalid("webhookId", "must not be empty")
	case !slices.Contains(core.DeliveryStatuses, d.Status):
		return core.Invalid("status", "%q is not a status of a delivery", d.Status)
	case !slices.Contains(deliveryEvents, d.Event):
		return core.Invalid("event", "%q is not a public event", d.Event)
	case d.Status == core.DeliveryPending && d.NextAt == nil:
		return core.Invalid("nextAt", "must be given for a delivery that waits for an attempt")
	}
	number, err := t.webhookNumber(d.WebhookID)
	if err != nil {
		return err
	}
	if number == 0 {
		return core.NotFound("webhook", d.WebhookID)
	}
	was, err := deliveries.get(t, d.ID)
	if err != nil {
		return err
	}
	var old deliveryPlace
	if was != nil {
		if err := sameDelivery(was, d, number); err != nil {
			return err
		}
		old = was.place()
	}
	fresh := placeOf(number, d)
	if err := t.set(t.key(prefixDelivery, d.ID), t.take(func(b []byte) []byte { return appendDelivery(b, fresh, d) })); err != nil {
		return err
	}
	return t.moveDelivery(d.ID, old, fresh)
}

// sameDelivery refuses what a delivery that is stored must not become.
func sameDelivery(was *deliveryRecord, d *core.Delivery, number uint32) error {
	switch {
	case was.number != number:
		return core.Conflict("delivery", d.ID, "", "delivery %s is another endpoint's", d.ID)
	case was.Event != d.Event || was.Seq != d.Seq:
		return core.Invalid("event", "is not the one that the delivery was stored with")
	case d.Status == core.DeliveryPending && (was.Status == core.DeliverySucceeded || was.Status == core.DeliveryCancelled):
		return core.Conflict("delivery", d.ID, string(was.Status), "delivery %s is %s and cannot be made again", d.ID, was.Status)
	}
	return nil
}

// moveDelivery moves the index entries of a delivery. A place that does not exist has none.
func (t *tx) moveDelivery(id string, old, fresh deliveryPlace) error {
	if old == fresh {
		return nil
	}
	oldDue, freshDue := old.exists && old.status == pendingStatus, fresh.exists && fresh.status == pendingStatus
	if oldDue && (!freshDue || old.next != fresh.next) {
		t.delete(t.take(func(b []byte) []byte { return append(appendDue(b, old.number, old.next), id...) }))
	}
	if freshDue && (!oldDue || old.next != fresh.next) {
		key := t.take(func(b []byte) []byte { return append(appendDue(b, fresh.number, fresh.next), id...) })
		if err := t.set(key, nil); err != nil {
			return err
		}
		t.noteDue(fresh)
	}
	moved := old.exists != fresh.exists || old.status != fresh.status || old.event != fresh.event
	if old.exists && moved {
		t.delete(t.take(func(b []byte) []byte { return append(appendDeliveries(b, old.number, old.status, old.event), id...) }))
		t.tally(old, -1)
	}
	if fresh.exists && (moved || old.needs != fresh.needs) {
		key := t.take(func(b []byte) []byte {
			return append(appendDeliveries(b, fresh.number, fresh.status, fresh.event), id...)
		})
		var value []byte
		if fresh.needs != 0 {
			value = t.take(func(b []byte) []byte { return appendUint64(b, fresh.needs) })
		}
		if err := t.set(key, value); err != nil {
			return err
		}
	}
	if fresh.exists && moved {
		t.tally(fresh, 1)
	}
	return nil
}

// noteDue notes when a delivery is due for an attempt.
func (t *tx) noteDue(p deliveryPlace) {
	if t.dues == nil {
		t.dues = map[uint32]int64{}
	}
	if low, ok := t.dues[p.number]; !ok || p.next < low {
		t.dues[p.number] = p.next
	}
}

// dropDelivery removes a delivery with its index entries. ok is asked whether one in that state may go.
func (t *tx) dropDelivery(id string, ok func(d *core.Delivery, number uint32) bool) (bool, error) {
	d, err := deliveries.get(t, id)
	if err != nil || d == nil || !ok(&d.Delivery, d.number) {
		return false, err
	}
	t.delete(t.key(prefixDelivery, id))
	return true, t.moveDelivery(id, d.place(), deliveryPlace{})
}

// FindDelivery implements core.Tx.
func (t *tx) FindDelivery(id string) (*core.Delivery, error) {
	d, err := deliveries.find(t, id)
	if err != nil {
		return nil, err
	}
	live, err := t.webhookNumber(d.WebhookID)
	if err == nil && live != d.number {
		err = core.NotFound("delivery", id)
	}
	if err != nil {
		return nil, err
	}
	return &d.Delivery, nil
}

// FindDelivery implements core.WebhookReader.
func (s *Store) FindDelivery(ctx context.Context, id string) (*core.Delivery, error) {
	var d *deliveryRecord
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		if d, err = deliveries.read(txn, id); err != nil {
			return err
		}
		live, err := webhookNumber(txn, d.WebhookID)
		if err == nil && live != d.number {
			err = core.NotFound("delivery", id)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &d.Delivery, nil
}

func readDelivery(txn kv.Snapshot, id string) (*core.Delivery, error) {
	d, err := deliveries.read(txn, id)
	if err != nil {
		return nil, err
	}
	return &d.Delivery, nil
}

// DueDeliveries implements core.WebhookReader. An endpoint that is not known has none.
func (s *Store) DueDeliveries(ctx context.Context, webhookID string, afterTime time.Time, afterID string, limit int) ([]*core.Delivery, error) {
	if limit <= 0 {
		return nil, nil
	}
	var number uint32
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		number, err = webhookNumber(txn, webhookID)
		return err
	})
	if err != nil || number == 0 {
		return nil, err
	}
	if !afterTime.IsZero() {
		return s.dueAfter(ctx, number, append(appendDue(nil, number, afterTime.UnixNano()), afterID...), limit)
	}
	floor, raise := s.floors.begin(number)
	list, err := s.dueAfter(ctx, number, appendDue(nil, number, floor), limit)
	first := int64(noTime)
	if len(list) > 0 {
		first = list[0].NextAt.UnixNano()
	}
	s.floors.end(raise, first, err == nil)
	return list, err
}

// dueAfter returns pending deliveries from a key on, but for one that lies under it.
func (s *Store) dueAfter(ctx context.Context, number uint32, seek []byte, limit int) (list []*core.Delivery, err error) {
	prefix := appendDuePrefix(nil, number)
	err = s.view(ctx, func(txn kv.Snapshot) error {
		return scan(txn, prefix, seek, false, func(key, _ []byte) (bool, error) {
			if string(key) == string(seek) {
				return true, nil
			}
			id := string(key[len(prefix)+8:])
			d, err := readDelivery(txn, id)
			if err != nil {
				return s.pass(appendKey(nil, prefixDelivery, id), err)
			}
			list = append(list, d)
			return len(list) < limit, ctx.Err()
		})
	})
	return list, err
}

// FindEvent implements core.WebhookReader.
func (s *Store) FindEvent(ctx context.Context, seq uint64) (core.Event, error) {
	var e core.Event
	err := s.view(ctx, func(txn kv.Snapshot) error {
		subject, err := get(txn, appendLogKey(nil, seq))
		if err != nil {
			return err
		}
		if subject == nil {
			return core.Errorf(core.CodeNotFound, "event %d is not in the log", seq)
		}
		value, err := get(txn, appendJournalKey(nil, string(subject), seq))
		if err != nil {
			return err
		}
		if value == nil {
			return damaged("event of", string(subject), errRecord)
		}
		if e, err = decodeEvent(string(subject), seq, value); err != nil {
			return damaged("event of", string(subject), err)
		}
		return nil
	})
	return e, err
}
