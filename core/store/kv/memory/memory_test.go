package memory_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// The map one whose snapshots stay as they were, whatever is written behind them.
func TestMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00\xff")), 1, 3, -1)
		db, model := memory.New(), map[string]string{}
		type view struct {
			at    kv.Snapshot
			model map[string]string
		}
		var views []view
		clone := func() map[string]string {
			m := map[string]string{}
			for k, v := range model {
				m[k] = v
			}
			return m
		}
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			batch, fresh := db.Begin(), clone()
			for range rapid.IntRange(0, 40).Draw(t, "writes") {
				k, v := key.Draw(t, "key"), rapid.String().Draw(t, "value")
				if rapid.Bool().Draw(t, "delete") {
					check(t, batch.Delete([]byte(k)))
					delete(fresh, k)
				} else {
					check(t, batch.Set([]byte(k), []byte(v)))
					fresh[k] = v
				}
			}
			compare(t, batch, fresh, key.Draw(t, "prefix"), key.Draw(t, "from"))
			if rapid.Bool().Draw(t, "commit") {
				check(t, batch.Commit())
				model = fresh
			}
			batch.Discard()
			if batch.Commit() == nil {
				t.Fatal("a batch that is over was committed")
			}
			views = append(views, view{db.Snapshot(), clone()})
		}
		for _, v := range views {
			compare(t, v.at, v.model, key.Draw(t, "prefix"), key.Draw(t, "from"))
			v.at.Discard()
		}
	})
}

func compare(t *rapid.T, at kv.Snapshot, model map[string]string, prefix, from string) {
	t.Helper()
	for _, backwards := range []bool{false, true} {
		var want, got []string
		for k, v := range model {
			if strings.HasPrefix(k, prefix) && (k == prefix+from || k > prefix+from != backwards) {
				want = append(want, k+"="+v)
			}
		}
		slices.SortFunc(want, func(a, b string) int {
			c := strings.Compare(a[:strings.Index(a, "=")], b[:strings.Index(b, "=")])
			if backwards {
				return -c
			}
			return c
		})
		it := at.Iterate([]byte(prefix), backwards)
		it.Seek([]byte(prefix + from))
		for k, ok := it.Key(); ok; k, ok = it.Key() {
			check(t, it.Value(func(v []byte) error {
				got = append(got, string(k)+"="+string(v))
				if int(it.Size()) != len(v) {
					t.Fatalf("%q is %d bytes, not %d", k, len(v), it.Size())
				}
				return nil
			}))
			it.Next()
		}
		it.Close()
		if !slices.Equal(got, want) {
			t.Fatalf("prefix %q from %q, backwards %v: got %q, want %q", prefix, from, backwards, got, want)
		}
	}
	for k, v := range model {
		found, err := at.Get([]byte(k), func(value []byte) error {
			if string(value) != v {
				t.Fatalf("%q is %q, want %q", k, value, v)
			}
			return nil
		})
		if err != nil || !found {
			t.Fatalf("%q: %v, %v", k, found, err)
		}
	}
}

func check(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
