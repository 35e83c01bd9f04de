package source

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/secret"
)

const (
	maxReads   = 8      // of one call, at a time
	maxMarks   = 10_000 // that are kept
	maxStreams = 1_000
)

// Options say of what a Provider is made. Source and Interval are needed.
type Options struct {
	Source   Source
	Interval time.Duration // at which places that somebody watches are read, unless Source is a Follower
}

// Provider is a secret.Provider and secret.Watcher over a Source. Close it.
type Provider struct {
	o       Options
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup // one for each place that is followed

	mu      sync.Mutex // guards all below
	marks   map[string]mark
	places  map[string]*followed
	streams map[*stream]bool
	closed  bool
}

// followed is a place that streams wait for.
type followed struct {
	streams map[*stream]bool
	cancel  context.CancelFunc
}

var (
	_ secret.Provider = (*Provider)(nil)
	_ secret.Watcher  = (*Provider)(nil)
)

// New makes a Provider.
func New(o Options) *Provider {
	p := &Provider{o: o, marks: map[string]mark{}, places: map[string]*followed{}, streams: map[*stream]bool{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Close ends all streams, after what they had to say.
func (p *Provider) Close() {
	p.mu.Lock()
	p.closed = true
	for s := range p.streams {
		s.end()
	}
	p.streams, p.places = nil, nil
	p.mu.Unlock()
	p.cancel()
	p.running.Wait()
}

// Resolve implements secret.Provider. What fails for all references and may go well later is an error of the whole.
func (p *Provider) Resolve(ctx context.Context, refs []secret.Ref, _ secret.Caller) ([]secret.Result, error) {
	type reading struct {
		entry Entry
		err   *secret.Error
	}
	results := make([]secret.Result, len(refs))
	places := make([]string, len(refs))
	readings := map[string]*reading{}
	for i, ref := range refs {
		results[i].Ref = ref
		place, err := p.o.Source.Locate(ref.Path)
		if err != nil {
			results[i].Error = secret.AsError(err)
			continue
		}
		places[i] = place
		readings[place] = &reading{}
	}
	slots := make(chan struct{}, maxReads)
	var wait sync.WaitGroup
	for place, r := range readings {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			entry, err := p.o.Source.Read(ctx, place)
			p.saw(place, entry, err)
			r.entry, r.err = entry, failure(ctx, err)
		})
	}
	wait.Wait()
	var whole *secret.Error
	lost := 0
	for i, ref := range refs {
		r := readings[places[i]]
		switch {
		case results[i].Error != nil:
		case r.err != nil:
			results[i].Error = r.err
			if r.err.Retry || r.err.Code == secret.CodeCanceled {
				whole = r.err
				lost++
			}
		default:
			results[i].Value, results[i].Error = r.entry.field(places[i], ref.Key)
		}
	}
	if whole != nil && lost == len(refs) {
		return nil, whole
	}
	return results, nil
}

// failure turns what a Source returns into an error for the host.
func failure(ctx context.Context, err error) *secret.Error {
	var own *secret.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.Is(err, context.Canceled) || errors.Is(ctx.Err(), context.Canceled):
		return secret.Errorf(secret.CodeCanceled, "the call was ended")
	case errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		return secret.Errorf(secret.CodeTimeout, "the store did not answer in time")
	}
	return secret.AsError(err)
}

// saw compares a state of a place with the last one, and tells streams. A store that cannot be asked tells nothing. Values
// that expire are not compared: each reading of them may be another one, and whoever has one asks again by then.
func (p *Provider) saw(place string, entry Entry, err error) {
	var now mark
	if err == nil {
		if !entry.NotAfter.IsZero() {
			return
		}
		now = entry.mark()
	} else if e := failure(p.ctx, err); e.Retry || e.Code != secret.CodeNotFound && e.Code != secret.CodeForbidden {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before, known := p.marks[place]
	if !known && len(p.marks) >= maxMarks {
		for old := range p.marks { // any without a waiter
			if p.places[old] == nil {
				delete(p.marks, old)
				break
			}
		}
	}
	if known || len(p.marks) < maxMarks {
		p.marks[place] = now
	}
	if known && before != now {
		p.changed(place)
	}
}

// Changed tells streams that the values of a place are not valid any more, whatever reading it says.
func (p *Provider) Changed(place string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed(place)
}

func (p *Provider) changed(place string) {
	if f := p.places[place]; f != nil {
		for s := range f.streams {
			s.add(place)
		}
	}
}

// Watched reports whether somebody waits for changes of a place.
func (p *Provider) Watched(place string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.places[place] != nil
}

// Watch implements secret.Watcher.
func (p *Provider) Watch(ctx context.Context, refs []secret.Ref) (secret.ChangeStream, error) {
	s := &stream{provider: p, refs: map[string][]secret.Ref{}, pending: map[string]bool{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	for _, ref := range refs {
		place, err := p.o.Source.Locate(ref.Path)
		if err != nil {
			return nil, secret.AsError(err)
		}
		s.refs[place] = append(s.refs[place], ref)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, secret.Errorf(secret.CodeUnavailable, "the provider is about to end")
	}
	if len(p.streams) >= maxStreams {
		return nil, secret.Errorf(secret.CodeUnavailable, "there are %d watches already, which is as many as the provider takes", maxStreams)
	}
	p.streams[s] = true
	for place := range s.refs {
		f := p.places[place]
		if f == nil {
			inner, cancel := context.WithCancel(p.ctx)
			f = &followed{streams: map[*stream]bool{}, cancel: cancel}
			p.places[place] = f
			_, known := p.marks[place]
			p.running.Go(func() { p.follow(inner, place, known) })
		}
		f.streams[s] = true
	}
	s.stop = context.AfterFunc(ctx, func() { _ = s.Close() })
	return s, nil
}

// drop forgets a stream, and ends following where it was the last one.
func (p *Provider) drop(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.streams, s)
	for place := range s.refs {
		f := p.places[place]
		if f == nil {
			continue
		}
		delete(f.streams, s)
		if len(f.streams) == 0 {
			f.cancel()
			delete(p.places, place)
		}
	}
}

// follow learns of the states of a place. The first reading is at once, unless one was made for somebody; the others are
// at moments of their own, so that a store is not asked for everything at the same time.
func (p *Provider) follow(ctx context.Context, place string, known bool) {
	if f, ok := p.o.Source.(Follower); ok {
		f.Follow(ctx, place, func(entry Entry, err error) { p.saw(place, entry, err) })
		return
	}
	wait := time.Duration(0)
	if known {
		wait = rand.N(p.o.Interval) //nolint:gosec // spreads the readings, no secret
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		entry, err := p.o.Source.Read(ctx, place)
		if ctx.Err() != nil {
			return
		}
		p.saw(place, entry, err)
		timer.Reset(max(p.o.Interval, time.Until(entry.NotAfter)))
	}
}
