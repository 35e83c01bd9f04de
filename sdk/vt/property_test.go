package vt_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/wardroom/wardroom/sdk/vt"
	"pgregory.net/rapid"
)

// drawScreen returns a small screen that was fed a random stream with resizes in it.
func drawScreen(t *rapid.T) *vt.Screen {
	s := vt.New(vt.Options{Cols: rapid.IntRange(2, 24).Draw(t, "cols"), Rows: rapid.IntRange(1, 8).Draw(t, "rows")})
	if rapid.Bool().Draw(t, "shrink") {
		s.ShrinkTables()
	}
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		s.Write(stream(t, "token"))
		if rapid.Bool().Draw(t, "resize") {
			s.Resize(rapid.IntRange(2, 24).Draw(t, "new cols"), rapid.IntRange(1, 8).Draw(t, "new rows"))
		}
	}
	return s
}

func TestRepaintRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScreen(t)
		cols, rows := s.Size()
		o := vt.New(vt.Options{Cols: cols, Rows: rows})
		paint := s.Repaint(rapid.IntRange(0, 20).Draw(t, "tail"))
		o.Write(paint)
		if diff := s.Diff(o); diff != "" {
			t.Fatalf("%q: %s", paint, diff)
		}
		more := stream(t, "more")
		s.Settle()
		s.Write(more)
		o.Settle()
		o.Write(more)
		if a, b := s.Text(), o.Text(); !slices.Equal(a, b) {
			t.Fatalf("after %q and %q:\n%q\n%q", paint, more, a, b)
		}
	})
}

func TestSnapshotRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScreen(t)
		o, err := vt.Restore(s.Snapshot(), vt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		check := func() {
			t.Helper()
			if diff := s.Diff(o); diff != "" {
				t.Fatal(diff)
			}
			a, first, next := s.Lines(0)
			b, oFirst, oNext := o.Lines(0)
			if !slices.Equal(a, b) || first != oFirst || next != oNext {
				t.Fatalf("scrollback %d-%d %q, %d-%d %q", first, next, a, oFirst, oNext, b)
			}
			if s.Offset() != o.Offset() {
				t.Fatalf("offset %d, %d", s.Offset(), o.Offset())
			}
		}
		check()
		more := stream(t, "more")
		if a, b := s.Write(more), o.Write(more); !bytes.Equal(a, b) {
			t.Fatalf("replies %q, %q", a, b)
		}
		check()
	})
}

func TestPiecesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := append(stream(t, "token"), stream(t, "token")...)
		var events, pieceEvents []vt.OSC
		record := func(to *[]vt.OSC) func(vt.OSC) {
			return func(o vt.OSC) {
				o.Data = bytes.Clone(o.Data)
				*to = append(*to, o)
			}
		}
		whole := vt.New(vt.Options{Cols: 20, Rows: 5, OnOSC: record(&events)})
		pieces := vt.New(vt.Options{Cols: 20, Rows: 5, OnOSC: record(&pieceEvents)})
		whole.Write(all)
		for rest := all; len(rest) > 0; {
			n := min(rapid.IntRange(1, 3).Draw(t, "piece"), len(rest))
			pieces.Write(rest[:n])
			rest = rest[n:]
		}
		if diff := whole.Diff(pieces); diff != "" {
			t.Fatal(diff)
		}
		if !slices.EqualFunc(events, pieceEvents, func(a, b vt.OSC) bool {
			return a.Code == b.Code && a.Offset == b.Offset && bytes.Equal(a.Data, b.Data)
		}) {
			t.Fatalf("events %v, %v", events, pieceEvents)
		}
	})
}
