package store

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Places in core.DeliveryStatuses and in deliveryEvents are on disk.
func TestDeliveryCodes(t *testing.T) {
	want := []core.DeliveryStatus{core.DeliveryPending, core.DeliverySucceeded, core.DeliveryFailed, core.DeliveryCancelled}
	if !slices.Equal(core.DeliveryStatuses, want) {
		t.Errorf("statuses are %v: stored ones would change their meaning", core.DeliveryStatuses)
	}
	var c deliveryCounts
	if len(core.DeliveryStatuses) > len(c) || len(deliveryEvents) > len(c[0]) {
		t.Errorf("%d statuses and %d events do not fit into the counts", len(core.DeliveryStatuses), len(deliveryEvents))
	}
	for _, e := range core.PublicEvents {
		if !slices.Contains(deliveryEvents, e) {
			t.Errorf("%s has no code: add it at the end of deliveryEvents", e)
		}
	}
}

func FuzzDelivery(f *testing.F) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	d := &core.Delivery{WebhookID: "wh_1", EventID: "evt_1", Event: core.EventSystemAlert, Status: core.DeliveryPending, NextAt: &at, CreatedAt: at}
	f.Add(appendDelivery(nil, placeOf(3, d), d))
	d.Test, d.FirstAt, d.Timestamp, d.Body = true, &at, &at, []byte(`{}`)
	f.Add(appendDelivery(nil, placeOf(3, d), d))
	f.Add([]byte{1, 0, 0, 255, 0, 0, 0, 1, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := decodeDelivery("dlv_1", b)
		if err != nil {
			return
		}
		again, err := decodeDelivery("dlv_1", appendDelivery(nil, d.place(), &d.Delivery))
		if err != nil {
			t.Fatalf("%+v did not come back: %v", d, err)
		}
		// A count beyond what an int holds is none that was written.
		again.Attempts, again.Manual, again.StatusCode, again.DurationMs = d.Attempts, d.Manual, d.StatusCode, d.DurationMs
		if !reflect.DeepEqual(again, d) {
			t.Fatalf("%+v came back as %+v", d, again)
		}
	})
}

func FuzzDeliveryCounts(f *testing.F) {
	f.Add(appendDeliveryCounts(nil, &deliveryCounts{{1, 300}, {0, 0, 2}}))
	f.Add([]byte{1, 0, 0, 255})
	f.Add([]byte{1, 9, 9, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeDeliveryCounts(b)
		if err != nil {
			return
		}
		for i := range c {
			for j := range c[i] {
				c[i][j] = max(c[i][j], 0)
			}
		}
		if again, err := decodeDeliveryCounts(appendDeliveryCounts(nil, c)); err != nil || *again != *c {
			t.Fatalf("%v came back as %v, %v", c, again, err)
		}
	})
}

// Due keys sort as the times do, and never mix between endpoints.
func FuzzDueKeys(f *testing.F) {
	f.Add(uint32(1), int64(0), int64(1), "dlv_1", "dlv_2")
	f.Add(uint32(255), int64(-1), int64(0), "", "x")
	f.Add(uint32(1<<32-1), int64(-1<<63), int64(1<<63-1), "b", "a")
	f.Fuzz(func(t *testing.T, number uint32, a, b int64, idA, idB string) {
		keyA, keyB := append(appendDue(nil, number, a), idA...), append(appendDue(nil, number, b), idB...)
		if got, want := bytes.Compare(keyA, keyB), cmp.Or(cmp.Compare(a, b), cmp.Compare(idA, idB)); got != want {
			t.Fatalf("keys of %d %q and %d %q compare as %d, want %d", a, idA, b, idB, got, want)
		}
		if bytes.HasPrefix(keyA, appendDuePrefix(nil, number+1)) {
			t.Fatalf("key %q lies under the endpoint after its own", keyA)
		}
	})
}

// The index of a closure's writes finds what a walk finds.
func FuzzWriteIndex(f *testing.F) {
	f.Add([]byte("abcabcaaabbb"), uint8(40))
	f.Fuzz(func(t *testing.T, keys []byte, repeat uint8) {
		var x writeIndex
		for range 2 { // the second time as after a reset
			var writes []write
			for i := range min(len(keys)*(1+int(repeat)), 400) {
				key := keys[i%len(keys) : i%len(keys)+1]
				if got, want := x.find(writes, key), findWrite(writes, key); got != want {
					t.Fatalf("write %d: %q is at %d, want %d", i, key, got, want)
				}
				writes = append(writes, write{key: key})
			}
			x.reset()
		}
	})
}
