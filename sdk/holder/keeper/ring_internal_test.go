package keeper

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// pattern is byte n of the output in these tests.
func pattern(n uint64) byte { return byte(n*31 + n>>8) }

func fill(from uint64, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = pattern(from + uint64(i))
	}
	return p
}

// TestRingKeepsTheLast puts pieces of any size and finds the last bytes, from any offset.
func TestRingKeepsTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 100_000).Draw(t, "size")
		r := newRing(size)
		var head uint64
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 60_000), 0, 12).Draw(t, "pieces") {
			r.put(fill(head, n))
			head += uint64(n)
		}
		if tail, got := r.span(); got != head || tail != max(head, uint64(size))-uint64(size) {
			t.Fatalf("span %d..%d, want up to %d", tail, got, head)
		}
		r.end()
		from := rapid.Uint64Range(0, head+10).Draw(t, "from")
		taker := &taker{}
		at := r.attach(taker, from)
		for {
			p, ended := r.take(taker, rapid.IntRange(1, 50_000).Draw(t, "limit"))
			if len(p) == 0 {
				if !ended || at != head {
					t.Fatalf("the end at %d, ended %t, want %d", at, ended, head)
				}
				return
			}
			if !bytes.Equal(p, fill(at, len(p))) {
				t.Fatalf("%d bytes at %d are others", len(p), at)
			}
			r.taken(taker, len(p))
			at += uint64(len(p))
		}
	})
}

// TestRingWaitsForTheTaker shows that nothing is lost while somebody takes.
func TestRingWaitsForTheTaker(t *testing.T) {
	const total = 4 << 20
	r := newRing(64 << 10)
	taker := &taker{}
	r.attach(taker, 0)
	var wg sync.WaitGroup
	wg.Go(func() {
		for at := uint64(0); at < total; at += 10_000 {
			r.put(fill(at, int(min(10_000, total-at))))
		}
		r.end()
	})
	var at uint64
	for {
		p, _ := r.take(taker, 7_777)
		if len(p) == 0 {
			break
		}
		if !bytes.Equal(p, fill(at, len(p))) {
			t.Fatalf("%d bytes at %d are others", len(p), at)
		}
		r.taken(taker, len(p))
		at += uint64(len(p))
	}
	wg.Wait()
	if at != total {
		t.Errorf("%d bytes, want %d", at, total)
	}
}

// TestRingDetach frees a put that waits.
func TestRingDetach(t *testing.T) {
	r := newRing(64 << 10)
	taker := &taker{}
	r.attach(taker, 0)
	done := make(chan struct{})
	go func() {
		r.put(make([]byte, 1<<20))
		close(done)
	}()
	for until := time.Now().Add(10 * time.Second); ; {
		if _, head := r.span(); head == 64<<10 {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the ring does not fill")
		}
	}
	select {
	case <-done:
		t.Fatal("put overwrites what was not taken")
	default:
	}
	r.stop(taker)
	if p, ended := r.take(taker, 1); len(p) != 0 || ended {
		t.Error("a stopped taker gets bytes")
	}
	r.detach(taker)
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("put does not go on without a taker")
	}
}
