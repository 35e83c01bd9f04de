package agents

// The heap of a class orders agents by load, then by least recent use. It is written out instead of using
// container/heap because every reservation and release of the product passes here, and the interface calls
// cost more than the comparisons.

// before reports whether a is to be taken before b: fewer busy slots relative to its size, then the one not
// used for longer.
func before(a, b *agent) bool {
	left, right := a.slots.busy()*b.slots.max, b.slots.busy()*a.slots.max
	if left != right {
		return left < right
	}
	return a.slots.lastUse < b.slots.lastUse
}

func (c *class) push(a *agent) {
	c.ready = append(c.ready, a)
	a.slots.pos = len(c.ready) - 1
	c.up(a.slots.pos)
}

// pull takes out the agent at i and returns it.
func (c *class) pull(i int) *agent {
	a, last := c.ready[i], len(c.ready)-1
	if i != last {
		c.swap(i, last)
	}
	c.ready[last] = nil
	c.ready = c.ready[:last]
	if i != last {
		c.fix(i)
	}
	a.slots.pos = -1
	return a
}

func (c *class) fix(i int) {
	if !c.down(i) {
		c.up(i)
	}
}

func (c *class) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !before(c.ready[i], c.ready[parent]) {
			return
		}
		c.swap(i, parent)
		i = parent
	}
}

// down returns whether the agent at i moved.
func (c *class) down(i int) bool {
	start := i
	for {
		child := 2*i + 1
		if child >= len(c.ready) {
			break
		}
		if right := child + 1; right < len(c.ready) && before(c.ready[right], c.ready[child]) {
			child = right
		}
		if !before(c.ready[child], c.ready[i]) {
			break
		}
		c.swap(i, child)
		i = child
	}
	return i > start
}

func (c *class) swap(i, j int) {
	c.ready[i], c.ready[j] = c.ready[j], c.ready[i]
	c.ready[i].slots.pos = i
	c.ready[j].slots.pos = j
}
