package source

import (
	"io"
	"slices"
	"sync"

	"github.com/wardroom/wardroom/sdk/secret"
)

// stream is one watch. What is pending is at most what it watches.
type stream struct {
	provider *Provider
	refs     map[string][]secret.Ref // by place; immutable
	stop     func() bool             // of what ends it with its context
	wake     chan struct{}           // of one: something is pending
	done     chan struct{}
	once     sync.Once

	mu      sync.Mutex // guards all below; taken after that of the provider
	pending map[string]bool
}

var _ secret.ChangeStream = (*stream)(nil)

// add has Next return the references to a place.
func (s *stream) add(place string) {
	s.mu.Lock()
	s.pending[place] = true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns what is pending.
func (s *stream) take() []secret.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	var refs []secret.Ref
	for place := range s.pending {
		refs = append(refs, s.refs[place]...)
	}
	clear(s.pending)
	slices.SortFunc(refs, func(a, b secret.Ref) int { return slices.Compare([]string{a.Path, a.Key}, []string{b.Path, b.Key}) })
	return refs
}

// Next implements secret.ChangeStream.
func (s *stream) Next() ([]secret.Ref, error) {
	for {
		if refs := s.take(); len(refs) > 0 {
			return refs, nil
		}
		select {
		case <-s.wake:
		case <-s.done:
			if refs := s.take(); len(refs) > 0 {
				return refs, nil
			}
			return nil, io.EOF
		}
	}
}

// Close implements secret.ChangeStream.
func (s *stream) Close() error {
	s.stop()
	s.end()
	s.provider.drop(s)
	return nil
}

func (s *stream) end() { s.once.Do(func() { close(s.done) }) }
