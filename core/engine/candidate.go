package engine

import "time"

// candidate is the head of a queue in a pass of the scheduler.
type candidate struct {
	bucket *bucket
	waiter *waiter
	score  time.Duration // waiting time, with priority counted in
	id     string        // of the execution: the older one of two that are equal

	at   uint64 // turn of its pattern by which it is sorted within its flow
	kept bool   // at stays, whatever the pattern's turn is
}

func newCandidate(b *bucket, w *waiter, now time.Time, aging time.Duration) candidate {
	return candidate{bucket: b, waiter: w, score: time.Duration(w.level)*aging + now.Sub(w.since), id: w.run.exec.ID}
}

// before reports whether c comes before other by priority and age.
func (c *candidate) before(other *candidate) bool {
	if c.score != other.score {
		return c.score > other.score
	}
	return c.id < other.id
}

// candidates is a heap of those of one flow: by the turns of their patterns, then the one to be served first on top.
type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	if c[i].at != c[j].at {
		return c[i].at < c[j].at
	}
	return c[i].before(&c[j])
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
