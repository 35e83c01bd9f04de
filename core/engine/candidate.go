package engine

import "time"

// candidate is the head of a queue in a pass of the scheduler.
type candidate struct {
	bucket *bucket
	waiter *waiter
	score  time.Duration // waiting time, with priority counted in
	id     string        // of the execution: the older one of two that are equal
}

func newCandidate(b *bucket, w *waiter, now time.Time, aging time.Duration) candidate {
	return candidate{b, w, time.Duration(w.level)*aging + now.Sub(w.since), w.run.exec.ID}
}

// candidates is a heap, the one to be served first on top.
type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	if c[i].score != c[j].score {
		return c[i].score > c[j].score
	}
	return c[i].id < c[j].id
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	old := *c
	last := old[len(old)-1]
	old[len(old)-1] = candidate{}
	*c = old[:len(old)-1]
	return last
}
