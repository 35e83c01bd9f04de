package webhook_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/storetest"
)

var errGone = core.Unavailable("store_failed", "the disk is gone")

// memory is a store in memory, with looks into it.
type memory struct {
	*storetest.Memory
	committed atomic.Pointer[func()] // called once the next write of deliveries that begins counts, before who wrote knows
}

func newMemory(tb testing.TB) *memory { return &memory{Memory: storetest.NewMemory(tb)} }

func (m *memory) Update(ctx context.Context, fn func(tx core.Tx) error) error {
	deliveries, hook := 0, m.committed.Load()
	err := m.Memory.Update(ctx, func(tx core.Tx) error {
		deliveries = 0
		return fn(counting{tx, &deliveries})
	})
	if err == nil && deliveries > 0 && hook != nil && m.committed.CompareAndSwap(hook, nil) {
		(*hook)()
	}
	return err
}

// counting is a transaction that counts the deliveries it writes.
type counting struct {
	core.Tx
	deliveries *int
}

func (c counting) PutDelivery(d *core.Delivery) error {
	*c.deliveries++
	return c.Tx.PutDelivery(d)
}

// rows returns all deliveries, the oldest first.
func (m *memory) rows() []*core.Delivery {
	var rows []*core.Delivery
	for filter := (core.DeliveryFilter{Page: core.Page{Limit: core.MaxPageLimit}}); ; {
		list, info, err := m.FindDeliveries(context.Background(), filter)
		if err != nil {
			panic(err)
		}
		rows = append(rows, list...)
		if !info.HasMore {
			slices.Reverse(rows)
			return rows
		}
		filter.Cursor = info.NextCursor
	}
}

// count returns how many deliveries have a status.
func (m *memory) count(status core.DeliveryStatus) int {
	_, info, err := m.FindDeliveries(context.Background(), core.DeliveryFilter{Status: status, Page: core.Page{Limit: 1}})
	if err != nil {
		panic(err)
	}
	return info.Total
}

// broken reports whether a write was refused since the last Break.
func (m *memory) broken() bool { return m.Refused() > 0 }
