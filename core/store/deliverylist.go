package store

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// A delivery is in exactly one list: that of its endpoint, status and event. One key to move is all that an outcome
// costs there, and every filter is a merge of the lists that it selects, of which the counts tell the empty ones.
// Counts are one key per endpoint and batch, so they and the lists always agree.

// deliveryCounts counts deliveries of an endpoint by status and event.
type deliveryCounts [4][32]int64

// appendDeliveries makes the prefix of one list.
func appendDeliveries(dst []byte, number uint32, status, event byte) []byte {
	return append(appendWebhookLists(dst, number), status, event)
}

// appendWebhookLists makes the prefix of all lists of an endpoint.
func appendWebhookLists(dst []byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, prefixDeliveries...), number)
}

func appendDuePrefix(dst []byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, prefixDue...), number)
}

// appendDue makes the key under which pending deliveries with that next attempt lie, in Unix nanoseconds. Times sort
// as numbers, those before 1970 included.
func appendDue(dst []byte, number uint32, next int64) []byte {
	return appendUint64(appendDuePrefix(dst, number), uint64(next)^1<<63)
}

func appendCountKey(dst []byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, prefixDeliveryCount...), number)
}

// tally counts a delivery that came to a place or left it.
func (t *tx) tally(p deliveryPlace, by int64) {
	if t.tallies == nil {
		t.tallies = map[uint32]*deliveryCounts{}
	}
	c := t.tallies[p.number]
	if c == nil {
		c = new(deliveryCounts)
		t.tallies[p.number] = c
		t.reserve(maxDeliveryCounts + entryOverhead)
	}
	c[p.status][p.event] += by
}

// addTallies takes over what a closure changed.
func (w *writer) addTallies(tallies map[uint32]*deliveryCounts) {
	for number, delta := range tallies {
		if c := w.tallies[number]; c != nil {
			c.add(delta)
		} else {
			w.tallies[number] = delta // the closure's map is emptied, and never writes to it again
		}
	}
}

// add adds another's counts.
func (c *deliveryCounts) add(o *deliveryCounts) {
	for i := range c {
		for j := range c[i] {
			c[i][j] += o[i][j]
		}
	}
}

// total counts the deliveries that a list selects; -1 selects all.
func (c *deliveryCounts) total(status, event int) (n int64) {
	for i := range c {
		for j := range c[i] {
			if (status < 0 || status == i) && (event < 0 || event == j) {
				n += c[i][j]
			}
		}
	}
	return n
}

// maxDeliveryCounts bounds the encoded size.
const maxDeliveryCounts = 1024

func appendDeliveryCounts(dst []byte, c *deliveryCounts) []byte {
	dst = append(dst, recordVersion)
	for i := range c {
		for j, n := range c[i] {
			if n > 0 {
				dst = binary.AppendUvarint(append(dst, byte(i), byte(j)), uint64(n))
			}
		}
	}
	return dst
}

func decodeDeliveryCounts(b []byte) (*deliveryCounts, error) {
	c := new(deliveryCounts)
	if len(b) == 0 || b[0] != recordVersion {
		return nil, errRecord
	}
	for b = b[1:]; len(b) > 0; {
		if len(b) < 3 || int(b[0]) >= len(c) || int(b[1]) >= len(c[0]) {
			return nil, errRecord
		}
		v, n := binary.Uvarint(b[2:])
		if n <= 0 {
			return nil, errRecord
		}
		c[b[0]][b[1]] = int64(v)
		b = b[2+n:]
	}
	return c, nil
}

// deliveryCounts returns the counts of an endpoint, all 0 if it has no deliveries. Counts that cannot be read are made
// anew from the lists.
func (s *Store) deliveryCounts(txn kv.Snapshot, number uint32) (*deliveryCounts, error) {
	key := appendCountKey(nil, number)
	value, err := get(txn, key)
	if err != nil || value == nil {
		return new(deliveryCounts), err
	}
	c, err := decodeDeliveryCounts(value)
	if err == nil {
		return c, nil
	}
	s.note(key, asDamage(damaged("delivery counts of webhook", strconv.FormatUint(uint64(number), 10), err)))
	return countListed(txn, number)
}

// countListed counts the deliveries of an endpoint in its lists.
func countListed(txn kv.Snapshot, number uint32) (*deliveryCounts, error) {
	c := new(deliveryCounts)
	prefix := appendWebhookLists(nil, number)
	err := scan(txn, prefix, nil, false, func(key, _ []byte) (bool, error) {
		if rest := key[len(prefix):]; len(rest) > 2 && int(rest[0]) < len(c) && int(rest[1]) < len(c[0]) {
			c[rest[0]][rest[1]]++
		}
		return true, nil
	})
	return c, err
}

// countDeliveries writes the counts that the batch changes.
func (w *writer) countDeliveries(put func(write) error) error {
	for number, delta := range w.tallies {
		c, err := w.s.deliveryCounts(w.txn, number)
		if err != nil {
			return err
		}
		c.add(delta)
		wr := write{key: w.buf.take(func(b []byte) []byte { return appendCountKey(b, number) })}
		if *c != (deliveryCounts{}) {
			wr.value = w.buf.take(func(b []byte) []byte { return appendDeliveryCounts(b, c) })
		}
		if err := put(wr); err != nil {
			return err
		}
	}
	return nil
}

// FindDeliveries implements core.WebhookReader. An endpoint that is not known has none.
func (s *Store) FindDeliveries(ctx context.Context, filter core.DeliveryFilter) ([]*core.Delivery, core.PageInfo, error) {
	status, event := slices.Index(core.DeliveryStatuses, filter.Status), slices.Index(deliveryEvents, filter.Event)
	switch {
	case filter.Status != "" && status < 0:
		return nil, core.PageInfo{}, core.Invalid("status", "%q is not a status of a delivery", filter.Status)
	case filter.Event != "" && event < 0:
		return nil, core.PageInfo{}, core.Invalid("event", "%q is not a public event", filter.Event)
	}
	name := appendEscaped([]byte(prefixDeliveries), filter.WebhookID)
	q := &listQuery{
		name:   appendEscaped(appendEscaped(name, string(filter.Status)), string(filter.Event)),
		prefix: prefixDelivery, idPrefix: core.PrefixDelivery, page: filter.Page,
		ids: func(txn kv.Snapshot) (idWalk, int, error) {
			lists, total, err := s.selectDeliveries(txn, filter.WebhookID, status, event)
			return walkIndex(txn, lists...), int(total), err
		},
	}
	return findRows(ctx, s, q, readDelivery)
}

// selectDeliveries returns the prefixes of the lists that are not empty, and how many rows they hold; -1 and "" select
// all.
func (s *Store) selectDeliveries(txn kv.Snapshot, webhookID string, status, event int) (lists [][]byte, total int64, err error) {
	var numbers []uint32
	if webhookID != "" {
		n, err := webhookNumber(txn, webhookID)
		if err != nil || n == 0 {
			return nil, 0, err
		}
		numbers = append(numbers, n)
	} else {
		all, err := s.webhookNumbers(txn)
		if err != nil {
			return nil, 0, err
		}
		numbers = slices.Collect(maps.Values(all))
	}
	for _, n := range numbers {
		c, err := s.deliveryCounts(txn, n)
		if err != nil {
			return nil, 0, err
		}
		total += c.total(status, event)
		lists = append(lists, c.lists(n, func(i, j int) bool {
			return (status < 0 || status == i) && (event < 0 || event == j)
		})...)
	}
	return lists, total, nil
}

// lists returns the prefixes of the lists that are not empty and that want selects, by status and event.
func (c *deliveryCounts) lists(number uint32, want func(status, event int) bool) (lists [][]byte) {
	for i := range c {
		for j, n := range c[i] {
			if n > 0 && want(i, j) {
				lists = append(lists, appendDeliveries(nil, number, byte(i), byte(j)))
			}
		}
	}
	return lists
}
