package store

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

var webhooks = &table[core.WebhookRecord]{prefix: prefixWebhook, kind: "webhook"}

// PutWebhook implements core.Tx. An endpoint that is new gets a number of its own, under which its deliveries lie: one
// that is made anew with the id of a former one never meets the deliveries of that.
func (t *tx) PutWebhook(w *core.WebhookRecord) error {
	if w.ID == "" {
		return core.Invalid("id", "must not be empty")
	}
	n, err := t.webhookNumber(w.ID)
	if err != nil {
		return err
	}
	if n == 0 {
		t.w.numbers = nil
		last, err := t.number([]byte(keyWebhooks))
		if d := asDamage(err); d != nil {
			t.w.s.note([]byte(keyWebhooks), d) // until the next look, as it is written anew here
			last, err = newestWebhookNumber(t.w.txn)
		}
		if err != nil {
			return err
		}
		n = uint32(last) + 1
		if err := t.set([]byte(keyWebhooks), t.take(func(b []byte) []byte { return appendUint64(b, uint64(n)) })); err != nil {
			return err
		}
		value := t.take(func(b []byte) []byte { return binary.BigEndian.AppendUint32(b, n) })
		if err := t.set(t.key(prefixWebhookNumber, w.ID), value); err != nil {
			return err
		}
	}
	return webhooks.put(t, w.ID, nil, w)
}

// FindWebhook implements core.Tx.
func (t *tx) FindWebhook(id string) (*core.WebhookRecord, error) {
	return webhooks.find(t, id)
}

// DeleteWebhook implements core.Tx. An unknown id is no error. What lies under the endpoint's number stays until
// PurgeDeliveries or retention comes for it; nothing leads to it any more.
func (t *tx) DeleteWebhook(id string) error {
	t.delete(t.key(prefixWebhook, id))
	t.delete(t.key(prefixWebhookNumber, id))
	t.orphans, t.w.numbers = true, nil
	return nil
}

// webhookNumber returns the number of an endpoint as the closure sees it; 0 if there is no such endpoint.
func (t *tx) webhookNumber(id string) (uint32, error) {
	if t.w.numbers != nil {
		return t.w.numbers[id], nil
	}
	value, err := t.get(t.key(prefixWebhookNumber, id))
	if err != nil || value == nil {
		return 0, err
	}
	return decodeWebhookNumber(id, value)
}

// webhookNumber returns the number of an endpoint; 0 if there is no such endpoint.
func webhookNumber(txn kv.Snapshot, id string) (uint32, error) {
	value, err := get(txn, appendKey(nil, prefixWebhookNumber, id))
	if err != nil || value == nil {
		return 0, err
	}
	return decodeWebhookNumber(id, value)
}

// newestWebhookNumber finds the last number that an endpoint got by what has one, what a deleted endpoint left included.
func newestWebhookNumber(txn kv.Snapshot) (last uint64, err error) {
	err = scan(txn, []byte(prefixWebhookNumber), nil, true, func(_, value []byte) (bool, error) {
		if n, err := decodeWebhookNumber("", value); err == nil {
			last = max(last, uint64(n))
		}
		return true, nil
	})
	for _, prefix := range []string{prefixDeliveries, prefixDue, prefixDeliveryCount} { // their keys begin with it, and sort by it
		if err == nil {
			err = scanBack(txn, []byte(prefix), nil, func(key []byte) (bool, error) {
				if rest := key[len(prefix):]; len(rest) >= 4 {
					last = max(last, uint64(binary.BigEndian.Uint32(rest)))
				}
				return false, nil
			})
		}
	}
	return last, err
}

func decodeWebhookNumber(id string, value []byte) (uint32, error) {
	if len(value) != 4 {
		return 0, damaged("number of webhook", id, errRecord)
	}
	return binary.BigEndian.Uint32(value), nil
}

// AllWebhooks implements core.WebhookReader. Ids need not be in order of time: those of declared endpoints come from
// what they declare.
func (s *Store) AllWebhooks(ctx context.Context) ([]*core.WebhookRecord, error) {
	list, err := webhooks.all(ctx, s)
	slices.SortStableFunc(list, func(a, b *core.WebhookRecord) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list, err
}

// webhookNumbers returns the numbers of all endpoints by id. One whose number cannot be read has none until it is put
// again.
func (s *Store) webhookNumbers(txn kv.Snapshot) (map[string]uint32, error) {
	numbers := map[string]uint32{}
	err := scan(txn, []byte(prefixWebhookNumber), nil, true, func(key, value []byte) (bool, error) {
		id := string(key[len(prefixWebhookNumber):])
		n, err := decodeWebhookNumber(id, value)
		if err != nil {
			return s.pass(key, err)
		}
		numbers[id] = n
		return true, nil
	})
	return numbers, err
}
