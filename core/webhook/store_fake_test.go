package webhook_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// memory is a store of webhooks, deliveries and events. It outlives the services that use it, as a disk does.
type memory struct {
	core.Store // what is not implemented panics

	mu         sync.Mutex // guards all below
	seq        uint64
	events     []core.Event
	webhooks   map[string]*core.WebhookRecord
	deliveries map[string]*core.Delivery
	due        map[string][]*core.Delivery // pending ones by webhook, in order
	counts     map[core.DeliveryStatus]int
	executions map[string]*core.Execution
	cursors    map[string]uint64
	claims     map[string]string // resource ids by idempotency key
	writes     int
	failAfter  int                  // writes from this on are refused; 0: none
	committed  func(deliveries int) // called once the next write of deliveries counts, before who wrote knows; or nil
}

func newMemory() *memory {
	return &memory{
		webhooks: map[string]*core.WebhookRecord{}, deliveries: map[string]*core.Delivery{}, due: map[string][]*core.Delivery{},
		counts: map[core.DeliveryStatus]int{}, executions: map[string]*core.Execution{}, cursors: map[string]uint64{},
	}
}

// memoryTx is one transaction: nothing of it counts before it is over.
type memoryTx struct {
	core.Tx // what is not implemented panics

	m          *memory
	webhooks   map[string]*core.WebhookRecord // nil: deleted
	deliveries map[string]*core.Delivery
	order      []string
	cursors    map[string]uint64
	events     []core.Event
	after      []func()
}

func (tx *memoryTx) AfterCommit(fn func()) { tx.after = append(tx.after, fn) }

func (m *memory) Update(ctx context.Context, fn func(tx core.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n, after, err := m.update(fn)
	for _, fn := range after {
		fn()
	}
	m.mu.Lock()
	hook := m.committed
	if n > 0 {
		m.committed = nil
	}
	m.mu.Unlock()
	if n > 0 && hook != nil {
		hook(n)
	}
	return err
}

// update returns how many deliveries were written, and what is to be called after it.
func (m *memory) update(fn func(tx core.Tx) error) (int, []func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	if m.failAfter > 0 && m.writes > m.failAfter {
		return 0, nil, core.Unavailable("store_failed", "the disk is gone")
	}
	tx := &memoryTx{m: m, webhooks: map[string]*core.WebhookRecord{}, deliveries: map[string]*core.Delivery{}, cursors: map[string]uint64{}}
	if err := fn(tx); err != nil {
		return 0, nil, err
	}
	for id, w := range tx.webhooks {
		if w == nil {
			delete(m.webhooks, id)
			for _, d := range m.due[id] {
				m.counts[d.Status]--
				delete(m.deliveries, d.ID)
			}
			delete(m.due, id)
			continue
		}
		m.webhooks[id] = w
	}
	for _, id := range tx.order {
		m.put(tx.deliveries[id])
	}
	maps.Copy(m.cursors, tx.cursors)
	m.events = append(m.events, tx.events...)
	if n := len(m.events); n > 0 {
		m.seq = m.events[n-1].Seq
	}
	return len(tx.order), tx.after, nil
}

func before(a, b *core.Delivery) int {
	if c := a.NextAt.Compare(*b.NextAt); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// put moves a delivery within the due ones. mu is held.
func (m *memory) put(d *core.Delivery) {
	list := m.due[d.WebhookID]
	if old := m.deliveries[d.ID]; old != nil && old.Status == core.DeliveryPending {
		if i, ok := slices.BinarySearchFunc(list, old, before); ok {
			list = slices.Delete(list, i, i+1)
		}
	}
	if d.Status == core.DeliveryPending {
		i, _ := slices.BinarySearchFunc(list, d, before)
		list = slices.Insert(list, i, d)
	}
	if old := m.deliveries[d.ID]; old != nil {
		m.counts[old.Status]--
	}
	m.counts[d.Status]++
	m.due[d.WebhookID] = list
	m.deliveries[d.ID] = d
}

func (tx *memoryTx) PutWebhook(w *core.WebhookRecord) error {
	tx.webhooks[w.ID] = w
	return nil
}

func (tx *memoryTx) DeleteWebhook(id string) error {
	tx.webhooks[id] = nil
	return nil
}

func (tx *memoryTx) FindWebhook(id string) (*core.WebhookRecord, error) {
	w, ok := tx.webhooks[id]
	if !ok {
		w = tx.m.webhooks[id]
	}
	if w == nil {
		return nil, core.NotFound("webhook", id)
	}
	return w, nil
}

func (tx *memoryTx) PutDelivery(d *core.Delivery) error {
	if _, err := tx.FindWebhook(d.WebhookID); err != nil {
		return err
	}
	if d.Status == core.DeliveryPending && d.NextAt == nil {
		return core.Invalid("nextAt", "must be given")
	}
	copied := *d
	tx.deliveries[d.ID] = &copied
	tx.order = append(tx.order, d.ID)
	return nil
}

func (tx *memoryTx) FindDelivery(id string) (*core.Delivery, error) {
	d := cmp.Or(tx.deliveries[id], tx.m.deliveries[id])
	if d == nil {
		return nil, core.NotFound("delivery", id)
	}
	copied := *d
	return &copied, nil
}

func (tx *memoryTx) ClaimIdempotency(claim *core.IdempotencyClaim, resourceID string, _ time.Time) error {
	if claim == nil {
		return nil
	}
	if other, taken := tx.m.claims[claim.Key]; taken {
		return core.Conflict("idempotencyKey", claim.Key, "", "the key was used for %s", other)
	}
	if tx.m.claims == nil {
		tx.m.claims = make(map[string]string)
	}
	tx.m.claims[claim.Key] = resourceID // a transaction that fails later keeps it: no test needs more
	return nil
}

func (tx *memoryTx) SetCursor(name string, seq uint64) error {
	tx.cursors[name] = seq
	return nil
}

func (tx *memoryTx) Append(events ...core.Event) error {
	for i := range events {
		events[i].Seq = tx.m.seq + uint64(len(tx.events)) + 1
		tx.events = append(tx.events, events[i])
	}
	return nil
}

func (m *memory) AllWebhooks(context.Context) ([]*core.WebhookRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.webhooks)), nil
}

func (m *memory) FindDelivery(_ context.Context, id string) (*core.Delivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return (&memoryTx{m: m}).FindDelivery(id)
}

func (m *memory) FindDeliveries(_ context.Context, f core.DeliveryFilter) ([]*core.Delivery, core.PageInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []*core.Delivery
	if f.Status == core.DeliveryPending {
		rows = slices.Clone(m.due[f.WebhookID])
	} else {
		for _, d := range m.deliveries {
			if d.WebhookID == f.WebhookID && (f.Status == "" || d.Status == f.Status) && (f.Event == "" || d.Event == f.Event) {
				rows = append(rows, d)
			}
		}
	}
	slices.SortFunc(rows, func(a, b *core.Delivery) int { return strings.Compare(b.ID, a.ID) })
	info := core.PageInfo{Total: len(rows)}
	if f.Limit > 0 && len(rows) > f.Limit {
		rows = rows[:f.Limit]
	}
	return rows, info, nil
}

func (m *memory) DueDeliveries(_ context.Context, id string, after time.Time, afterID string, limit int) ([]*core.Delivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.due[id]
	i := 0
	if !after.IsZero() {
		var found bool
		if i, found = slices.BinarySearchFunc(list, &core.Delivery{ID: afterID, NextAt: &after}, before); found {
			i++
		}
	}
	rows := make([]*core.Delivery, 0, limit)
	for _, d := range list[i:min(len(list), i+limit)] {
		copied := *d
		rows = append(rows, &copied)
	}
	return rows, nil
}

func (m *memory) FindEvent(_ context.Context, seq uint64) (core.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := slices.BinarySearchFunc(m.events, seq, func(e core.Event, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if !ok {
		return core.Event{}, core.Errorf(core.CodeNotFound, "event %d is not in the log", seq)
	}
	return m.events[i], nil
}

func (m *memory) Cursor(_ context.Context, name string) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cursors[name], nil
}

func (m *memory) LastSeq() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seq
}

func (m *memory) Log(_ context.Context, after uint64, limit int) ([]core.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := slices.BinarySearchFunc(m.events, after, func(e core.Event, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if found {
		i++
	}
	return slices.Clone(m.events[i:min(len(m.events), i+limit)]), nil
}

func (m *memory) FindExecution(_ context.Context, id string) (*core.Execution, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.executions[id]; e != nil {
		return e, nil
	}
	return nil, core.NotFound("execution", id)
}

// rows returns all deliveries, the oldest first.
func (m *memory) rows() []*core.Delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := slices.Collect(maps.Values(m.deliveries))
	slices.SortFunc(rows, func(a, b *core.Delivery) int { return strings.Compare(a.ID, b.ID) })
	return rows
}

// count returns how many deliveries have a status.
func (m *memory) count(status core.DeliveryStatus) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[status]
}

// breakAfter refuses all writes but the next n; heal takes them again.
func (m *memory) breakAfter(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failAfter, m.writes = n, 0
}

func (m *memory) heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failAfter = 0
}

// broken tells whether a write was refused since breakAfter.
func (m *memory) broken() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failAfter > 0 && m.writes > m.failAfter
}
