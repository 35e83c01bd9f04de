package store

import (
	"reflect"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
)

func FuzzEventRecord(f *testing.F) {
	f.Add("task.completed", "evt_1", []byte(`{"a":1}`), int64(1_700_000_000), int64(5), []byte{1})
	f.Add("", "", []byte(nil), int64(-62135596800), int64(0), []byte{1, 1, 'a', 2, 2, 0})
	f.Fuzz(func(t *testing.T, kind, id string, data []byte, sec, nsec int64, raw []byte) {
		e := core.Event{Seq: 7, Subject: "s", Type: core.EventType(kind), ID: id, Time: time.Unix(sec, nsec).UTC()}
		if len(data) > 0 {
			e.Data = data
		}
		got, err := decodeEvent("s", 7, appendEvent(nil, &e))
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Fatalf("got %+v, %v, want %+v", got, err, e)
		}
		if e, err := decodeEvent("s", 7, raw); err == nil { // whatever is read can be written
			if again, err := decodeEvent("s", 7, appendEvent(nil, &e)); err != nil || !reflect.DeepEqual(again, e) {
				t.Fatalf("%q was read as %+v, then as %+v, %v", raw, e, again, err)
			}
		}
	})
}

func FuzzActiveRecord(f *testing.F) {
	f.Add(appendActive(nil, execState{pattern: "vote", status: core.ExecutionPending, refs: []string{"h1", "h2"}}))
	f.Add([]byte{1, 9, 0, 0})
	f.Add([]byte{1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F})
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := decodeActive(raw)
		if err != nil {
			return
		}
		again, err := decodeActive(appendActive(nil, s))
		if err != nil || !again.equal(s) {
			t.Fatalf("%q was read as %+v, then as %+v, %v", raw, s, again, err)
		}
	})
}

func FuzzCounterRecord(f *testing.F) {
	f.Add(appendCounts(nil, statusCounts{1, 2, 3, 400, 5}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := decodeCounts(raw)
		if err != nil {
			return
		}
		for _, n := range c {
			if n < 0 {
				return // beyond what a count may be; written as zero
			}
		}
		if again, err := decodeCounts(appendCounts(nil, c)); err != nil || again != c {
			t.Fatalf("%q was read as %v, then as %v, %v", raw, c, again, err)
		}
	})
}

func FuzzRedoRecord(f *testing.F) {
	f.Add(encodeRedo([]write{{[]byte("k"), []byte("v")}, {[]byte("gone"), nil}, {[]byte("empty"), []byte{}}}))
	f.Add([]byte{0, 1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		writes, err := decodeRedo(raw)
		if err != nil {
			return
		}
		again, err := decodeRedo(encodeRedo(writes))
		if err != nil || !reflect.DeepEqual(again, writes) {
			t.Fatalf("%q was read as %q, then as %q, %v", raw, writes, again, err)
		}
	})
}

// encodeRedo makes a record of one piece.
func encodeRedo(writes []write) (b []byte) {
	for i := range writes {
		b = appendRedo(b, &writes[i])
	}
	return b
}
