package agentcli

import (
	"sync"
	"time"
)

// sizeDebounce is how long a wish must stand before the terminal follows it: dragging a window makes many. Keys do not
// overtake a wish: it is followed before the next ones are typed.
const sizeDebounce = 100 * time.Millisecond

// sizes decides how large a terminal is. Each viewer has a wish; whose wish counts is the policy: latest
// follows the viewer that typed last, smallest fits all. Attaching changes nothing but for the first viewer,
// and without viewers the size stays. Safe for concurrent use.
type sizes struct {
	smallest bool
	apply    func(cols, rows int) // may be called on any goroutine, one call at a time

	mu     sync.Mutex // guards all below
	wishes map[*viewer]*sizeWish
	owner  *viewer // whose wish counts under latest; nil for none
	clock  uint64  // orders what viewers do
	timer  *time.Timer
	cols   int // as applied last
	rows   int
	closed bool

	applying sync.Mutex // held during apply
}

// sizeWish is what one viewer would like.
type sizeWish struct {
	cols, rows int
	typed      uint64 // when it typed last, on the clock; 0 never
	asked      uint64 // when it asked last
}

func newSizes(policy string, cols, rows int, apply func(cols, rows int)) *sizes {
	return &sizes{smallest: policy == ResizeSmallest, apply: apply, wishes: map[*viewer]*sizeWish{}, cols: cols, rows: rows}
}

// join adds a viewer with its first wish; 0x0 is none. The first viewer's counts at once.
func (z *sizes) join(v *viewer, cols, rows int) {
	z.mu.Lock()
	z.clock++
	alone := len(z.wishes) == 0
	z.wishes[v] = &sizeWish{cols: cols, rows: rows, asked: z.clock}
	if alone {
		z.owner = v
	}
	z.mu.Unlock()
	if alone && cols > 0 && rows > 0 {
		z.settle()
	} else if z.smallest {
		z.later()
	}
}

// wish changes what a viewer would like.
func (z *sizes) wish(v *viewer, cols, rows int) {
	z.mu.Lock()
	w := z.wishes[v]
	if w == nil {
		z.mu.Unlock()
		return
	}
	z.clock++
	w.cols, w.rows, w.asked = cols, rows, z.clock
	counts := z.smallest || z.owner == v
	z.mu.Unlock()
	if counts {
		z.later()
	}
}

// typed reports that a viewer typed: its wish counts from now on.
func (z *sizes) typed(v *viewer) {
	z.mu.Lock()
	w := z.wishes[v]
	if w == nil {
		z.mu.Unlock()
		return
	}
	z.clock++
	w.typed = z.clock
	changed := z.owner != v
	z.owner = v
	if z.timer != nil && z.timer.Stop() {
		changed = true // a size waits: what is typed now is meant for it
	}
	z.mu.Unlock()
	if changed {
		z.settle()
	}
}

// leave removes a viewer; the next one that was active takes over.
func (z *sizes) leave(v *viewer) {
	z.mu.Lock()
	delete(z.wishes, v)
	changed := z.owner == v
	if changed {
		z.owner = z.heir()
	}
	empty := len(z.wishes) == 0
	z.mu.Unlock()
	if (changed || z.smallest) && !empty {
		z.later()
	}
}

// heir is the viewer that typed last, else the one that asked last. The caller holds the lock.
func (z *sizes) heir() *viewer {
	var heir *viewer
	var best sizeWish
	for v, w := range z.wishes {
		if heir == nil || w.typed > best.typed || w.typed == best.typed && w.asked > best.asked {
			heir, best = v, *w
		}
	}
	return heir
}

// later settles once the wishes stand.
func (z *sizes) later() {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.closed {
		return
	}
	if z.timer == nil {
		z.timer = time.AfterFunc(sizeDebounce, z.settle)
		return
	}
	z.timer.Reset(sizeDebounce)
}

// settle applies the size that counts now, if it is another one.
func (z *sizes) settle() {
	z.applying.Lock()
	defer z.applying.Unlock()
	z.mu.Lock()
	cols, rows, ok := z.wanted()
	ok = ok && !z.closed && (cols != z.cols || rows != z.rows)
	if ok {
		z.cols, z.rows = cols, rows
	}
	z.mu.Unlock()
	if ok {
		z.apply(cols, rows)
	}
}

// wanted is the size that counts. The caller holds the lock.
func (z *sizes) wanted() (cols, rows int, ok bool) {
	if !z.smallest {
		w := z.wishes[z.owner]
		if w == nil || w.cols == 0 || w.rows == 0 {
			return 0, 0, false
		}
		cols, rows = clampSize(w.cols, w.rows)
		return cols, rows, true
	}
	for _, w := range z.wishes {
		if w.cols == 0 || w.rows == 0 {
			continue
		}
		if !ok {
			cols, rows, ok = w.cols, w.rows, true
			continue
		}
		cols, rows = min(cols, w.cols), min(rows, w.rows)
	}
	cols, rows = clampSize(cols, rows)
	return cols, rows, ok
}

// close applies nothing any more, and returns when nothing is being applied.
func (z *sizes) close() {
	z.mu.Lock()
	z.closed = true
	if z.timer != nil {
		z.timer.Stop()
	}
	z.mu.Unlock()
	z.applying.Lock()
	z.applying.Unlock() //nolint:gocritic,staticcheck // only waited for
}

// set reports which size the terminal has already.
func (z *sizes) set(cols, rows int) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.cols, z.rows = cols, rows
}
