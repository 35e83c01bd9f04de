package metrics

import (
	"strings"
	"sync"
)

// MaxLabelValues is how many distinct values a label that callers choose (pattern, region) may take. Later
// ones share the value Other, so that a client cannot grow the process by inventing names.
const MaxLabelValues = 1000

// Other is the label value of everything beyond MaxLabelValues.
const Other = "other"

// bound gives out one series per label value, up to a maximum. The zero value is not usable.
type bound[T any] struct {
	make func(label string) T
	max  int

	mu     sync.RWMutex // guards all below
	series map[string]T
}

func newBound[T any](max int, make func(label string) T) *bound[T] {
	return &bound[T]{make: make, max: max, series: map[string]T{}}
}

// maxCodes is how many codes of errors a plugin may have, of those that it makes up included.
const maxCodes = 64

// newCodes bounds the codes of each plugin by itself.
func newCodes() *bound[*bound[string]] {
	return newBound(MaxLabelValues, func(string) *bound[string] {
		return newBound(maxCodes, func(code string) string { return code })
	})
}

// get returns the series of a label value, made on first use.
func (b *bound[T]) get(label string) T {
	b.mu.RLock()
	s, ok := b.series[label]
	b.mu.RUnlock()
	if ok {
		return s
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok = b.series[label]; ok {
		return s
	}
	if len(b.series) >= b.max {
		if s, ok = b.series[Other]; ok {
			return s
		}
		label = Other
	}
	s = b.make(strings.ToValidUTF8(label, "\uFFFD"))
	b.series[strings.Clone(label)] = s
	return s
}
