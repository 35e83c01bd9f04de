package location

import "github.com/wardroom/wardroom/core"

// Bounds of what one call reads.
const (
	maxEvents = 50_000 // a read counts as one, even of nothing
	maxBytes  = 64 << 20
)

// budget is what one call may still read.
type budget struct{ events, bytes int }

func newBudget() *budget { return &budget{events: maxEvents, bytes: maxBytes} }

// spent reports whether nothing more may be read.
func (b *budget) spent() bool { return b.events <= 0 || b.bytes <= 0 }

// take notes a page that was read.
func (b *budget) take(page []core.Event) {
	b.events -= max(len(page), 1)
	for i := range page {
		b.bytes -= len(page[i].Data)
	}
}
