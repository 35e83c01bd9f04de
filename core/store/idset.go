package store

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core/store/kv"
)

// idSet is a set of ids on its way down, from the largest to the smallest.
type idSet interface {
	// head returns the largest id that is left; false at the end.
	head() (id string, ok bool)
	// next passes over the head.
	next()
	// seek passes over the ids that are larger than one.
	seek(id string)
	close()
}

// indexSet is the ids behind a prefix of an index.
type indexSet struct {
	it     kv.Iterator
	prefix []byte
	id     string
	more   bool
}

// newIndexSet returns the ids behind prefix that are less than below; all of them with "".
func newIndexSet(txn kv.Snapshot, prefix []byte, below string) *indexSet {
	s := &indexSet{it: txn.Iterate(prefix, true), prefix: slices.Clone(prefix)}
	seek := append(slices.Clone(prefix), below...)
	if below == "" {
		seek = append(seek, 0xFF)
	}
	s.it.Seek(seek)
	if s.read(); s.more && below != "" && s.id == below {
		s.next()
	}
	return s
}

func (s *indexSet) read() {
	key, ok := s.it.Key()
	if s.more = ok; ok {
		s.id = string(key[len(s.prefix):])
	}
}

func (s *indexSet) head() (string, bool) { return s.id, s.more }

func (s *indexSet) next() {
	s.it.Next()
	s.read()
}

// nearby is how many ids are passed over one by one before an index is entered anew, which costs about as much.
const nearby = 8

func (s *indexSet) seek(id string) {
	for range nearby {
		if !s.more || s.id <= id {
			return
		}
		s.next()
	}
	if s.more && s.id > id {
		s.it.Seek(append(slices.Clone(s.prefix), id...))
		s.read()
	}
}

func (s *indexSet) close() { s.it.Close() }

// sliceSet is ids in memory, in ascending order.
type sliceSet struct{ ids []string }

func newSliceSet(ids []string, below string) *sliceSet {
	s := &sliceSet{ids}
	if below != "" {
		n, _ := slices.BinarySearch(ids, below)
		s.ids = ids[:n]
	}
	return s
}

func (s *sliceSet) head() (string, bool) {
	if len(s.ids) == 0 {
		return "", false
	}
	return s.ids[len(s.ids)-1], true
}

func (s *sliceSet) next() { s.ids = s.ids[:len(s.ids)-1] }

func (s *sliceSet) seek(id string) {
	n, found := slices.BinarySearch(s.ids, id)
	if found {
		n++
	}
	s.ids = s.ids[:n]
}

func (s *sliceSet) close() {}

// unionSet is what is in any of several sets.
type unionSet struct{ sets []idSet }

func (u *unionSet) head() (id string, ok bool) {
	for _, s := range u.sets {
		if own, more := s.head(); more && (!ok || own > id) {
			id, ok = own, true
		}
	}
	return id, ok
}

func (u *unionSet) next() {
	id, _ := u.head()
	for _, s := range u.sets {
		if own, more := s.head(); more && own == id {
			s.next()
		}
	}
}

func (u *unionSet) seek(id string) {
	for _, s := range u.sets {
		s.seek(id)
	}
}

func (u *unionSet) close() {
	for _, s := range u.sets {
		s.close()
	}
}

// maxWalk bounds the ids that a list that is selected by several properties looks at, and those that any list counts.
const maxWalk = 100_000

// walkEnd is the error of an idWalk that looked at as much as it may.
type walkEnd struct{ at string } // the id that was looked at last

func (walkEnd) Error() string { return "the walk looked at as many ids as it may" }

// walkAll calls fn with the ids that are in all of several sets, largest first, until fn returns false or an error. Each
// set leads the others to where it goes on, so that it costs by the smallest of them. A walkEnd once that is more than most.
func walkAll(ctx context.Context, sets []idSet, most int, fn func(id string) (bool, error)) error {
	last := ""
	for steps := 0; ; steps++ {
		target, ok := sets[0].head()
		for _, s := range sets {
			id, more := s.head()
			if !more || !ok {
				return nil
			}
			target = min(target, id)
		}
		if steps >= most && last != "" {
			return walkEnd{last}
		}
		last = target
		all := true
		for _, s := range sets {
			s.seek(target)
			id, more := s.head()
			if !more {
				return nil
			}
			all = all && id == target
		}
		if all {
			if more, err := fn(target); err != nil || !more {
				return err
			}
			sets[0].next()
		}
		if steps%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
