package vt_test

import (
	"bytes"
	"testing"

	"github.com/wardroom/wardroom/sdk/vt"
	"pgregory.net/rapid"
)

func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 20000).Draw(t, "size")
		begin := rapid.Uint64Range(0, 1000).Draw(t, "begin")
		ring := vt.NewRingAt(size, begin)
		all := make([]byte, 0, 1<<16)
		for range rapid.IntRange(0, 8).Draw(t, "writes") {
			piece := make([]byte, rapid.IntRange(0, 9000).Draw(t, "bytes"))
			for i := range piece {
				piece[i] = byte((len(all) + i) * 7 >> 3)
			}
			all = append(all, piece...)
			if n, err := ring.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
			if got, want := ring.End(), begin+uint64(len(all)); got != want {
				t.Fatalf("End = %d, want %d", got, want)
			}
			kept := min(size, len(all))
			if got, want := ring.Start(), begin+uint64(len(all)-kept); got != want {
				t.Fatalf("Start = %d, want %d", got, want)
			}
			offset := begin + uint64(rapid.IntRange(0, len(all)+5).Draw(t, "offset"))
			data, start := ring.From(offset)
			if want := min(max(offset, ring.Start()), ring.End()); start != want {
				t.Fatalf("From(%d) starts at %d, want %d", offset, start, want)
			}
			if want := all[start-begin:]; !bytes.Equal(data, want) {
				t.Fatalf("From(%d) = %d bytes, want %d", offset, len(data), len(want))
			}
		}
	})
}

func TestRingKeepsWhatWasReturned(t *testing.T) {
	ring := vt.NewRing(4)
	ring.Write([]byte("abcd"))
	data, _ := ring.From(0)
	ring.Write([]byte("efgh"))
	if string(data) != "abcd" {
		t.Errorf("data changed to %q", data)
	}
	if data, start := ring.From(2); string(data) != "efgh" || start != 4 {
		t.Errorf("From(2) = %q, %d", data, start)
	}
}

func TestRingIsSmallUntilItFills(t *testing.T) {
	if got := testing.AllocsPerRun(10, func() { vt.NewRing(256 << 10) }); got > 1 {
		t.Errorf("an empty ring takes %v allocations", got)
	}
	const count = 16
	size := heap(func() any {
		rings := make([]*vt.Ring, count)
		for i := range rings {
			rings[i] = vt.NewRing(256 << 10)
			rings[i].Write([]byte("prompt$ "))
		}
		return rings
	}) / count
	if size > 8<<10 {
		t.Errorf("a ring with a prompt takes %d bytes", size)
	}
}

func TestRingAppendFrom(t *testing.T) {
	r := vt.NewRingAt(8, 100)
	_, _ = r.Write([]byte("0123456789"))
	buf := make([]byte, 0, 64)
	for _, tt := range []struct {
		offset, start uint64
		want          string
	}{{100, 102, "before 23456789"}, {102, 102, "before 23456789"}, {109, 109, "before 9"}, {110, 110, "before "}, {200, 110, "before "}} {
		got, start := r.AppendFrom(append(buf, "before "...), tt.offset)
		if string(got) != tt.want || start != tt.start || &got[0] != &buf[:1][0] {
			t.Errorf("from %d: %q at %d, want %q at %d in the same array", tt.offset, got, start, tt.want, tt.start)
		}
	}
}
