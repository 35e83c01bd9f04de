package store

import (
	"container/heap"
	"slices"

	"github.com/wardroom/wardroom/core/store/kv"
)

// idList is one list on its way into a merge.
type idList struct {
	it     kv.Iterator
	prefix int    // length of what precedes ids
	id     string // at the head
}

// next reads the head; false at the end of the list.
func (l *idList) next() bool {
	key, ok := l.it.Key()
	if ok {
		l.id = string(key[l.prefix:])
	}
	return ok
}

// idHeap has the largest id on top, or the smallest if up.
type idHeap struct {
	lists []*idList
	up    bool
}

func (h *idHeap) Len() int           { return len(h.lists) }
func (h *idHeap) Less(i, j int) bool { return h.lists[i].id < h.lists[j].id == h.up }
func (h *idHeap) Swap(i, j int)      { h.lists[i], h.lists[j] = h.lists[j], h.lists[i] }
func (h *idHeap) Push(x any)         { h.lists = append(h.lists, x.(*idList)) }
func (h *idHeap) Pop() any {
	last := h.lists[len(h.lists)-1]
	h.lists = h.lists[:len(h.lists)-1]
	return last
}

// mergeUp calls fn with the ids of all lists, oldest first, until fn returns false or an error. If after is not empty, it
// begins with the id that follows it.
func mergeUp(txn kv.Snapshot, prefixes [][]byte, after string, fn func(id string) (bool, error)) error {
	return merge(txn, prefixes, true, after, fn)
}

// merge is mergeUp in either order.
func merge(txn kv.Snapshot, prefixes [][]byte, up bool, after string, fn func(id string) (bool, error)) error {
	h := &idHeap{up: up}
	var open []kv.Iterator
	defer func() {
		for _, it := range open {
			it.Close()
		}
	}()
	for _, prefix := range prefixes {
		it := txn.Iterate(prefix, !up)
		open = append(open, it)
		l := &idList{it: it, prefix: len(prefix)}
		seek := append(slices.Clone(prefix), after...)
		if after == "" && !up {
			seek = append(seek, 0xFF)
		}
		it.Seek(seek)
		more := l.next()
		if more && after != "" && l.id == after {
			it.Next()
			more = l.next()
		}
		if more {
			h.lists = append(h.lists, l)
		}
	}
	heap.Init(h)
	for h.Len() > 0 {
		l := h.lists[0]
		if more, err := fn(l.id); err != nil || !more {
			return err
		}
		l.it.Next()
		if l.next() {
			heap.Fix(h, 0)
		} else {
			heap.Pop(h)
		}
	}
	return nil
}
