package store

import (
	"math"
	"sync"
)

// What was due and is over leaves a grave in the index until a compaction comes by, and a queue is read from its
// beginning, which is where the graves are. So memory keeps, per endpoint, a time before which nothing is pending:
// reading begins there.

// noTime stands for no time at all: later than every one.
const noTime = math.MaxInt64

// dueFloors are those times. The zero value is ready.
type dueFloors struct {
	mu     sync.Mutex // guards all below, and what it leads to
	of     map[uint32]*dueFloor
	flying []*dueFloor // those that the open batch adds to
}

// dueFloor is of one endpoint. Times are Unix nanoseconds.
type dueFloor struct {
	floor   int64 // nothing that is committed is pending before it
	raising bool  // a reader looks for the first that is pending
	low     int64 // while raising: the earliest that may be missing in the reader's snapshot, or noTime
	flight  int64 // the earliest of the batch that is not committed yet, or noTime
}

// get returns the floor of an endpoint. mu is held.
func (f *dueFloors) get(number uint32) *dueFloor {
	if f.of == nil {
		f.of = map[uint32]*dueFloor{}
	}
	d := f.of[number]
	if d == nil {
		d = &dueFloor{floor: math.MinInt64, low: noTime, flight: noTime}
		f.of[number] = d
	}
	return d
}

// begin returns the time from which a reader that takes its snapshot afterwards has to read. If raise is not nil, the
// reader gives it to end.
func (f *dueFloors) begin(number uint32) (floor int64, raise *dueFloor) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.get(number)
	if !d.raising {
		d.raising, d.low = true, d.flight
		raise = d
	}
	return d.floor, raise
}

// end tells the first time that the reader found, or noTime; ok is false if it did not look. What was forgotten
// meanwhile stays as it is.
func (f *dueFloors) end(d *dueFloor, first int64, ok bool) {
	if d == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d.raising = false
	if ok {
		d.floor = min(first, d.low)
	}
}

// lower tells the earliest times, by endpoint, that a batch adds, before it is committed.
func (f *dueFloors) lower(lows map[uint32]int64) {
	if len(lows) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for number, low := range lows {
		d := f.get(number)
		if d.flight == noTime {
			f.flying = append(f.flying, d)
		}
		d.floor, d.low, d.flight = min(d.floor, low), min(d.low, low), min(d.flight, low)
	}
}

// landed reports that the batch is committed, or never will be.
func (f *dueFloors) landed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, d := range f.flying {
		d.flight, f.flying[i] = noTime, nil
	}
	f.flying = f.flying[:0]
}

// forget drops what is known of an endpoint that is gone for good.
func (f *dueFloors) forget(number uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, number)
}

// reset drops all that is known.
func (f *dueFloors) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of, f.flying = nil, nil
}
