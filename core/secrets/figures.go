package secrets

import (
	"maps"
	"time"
)

// codeOK stands in Figures for an answer with a value.
const codeOK = "OK"

// A provider that is a plugin can make up codes: beyond maxCodes they count as codeOther.
const (
	maxCodes  = 64
	codeOther = "other"
)

// Figures are counts of one provider since the service was made, and what is in memory of it.
type Figures struct {
	Provider  string
	Hits      int64            // uses of a value in memory
	Misses    int64            // other uses
	Fetches   map[string]int64 // answers about single secrets, by code; OK for values
	FetchTime time.Duration    // sum of the calls
	Cached    int              // secrets in memory
	Bytes     int              // of them
	Stale     int              // of them, kept although the provider does not answer
	Failed    int              // secrets that were asked for and are not there
	Oldest    time.Duration    // since the provider gave the oldest of those in memory
}

// Figures returns those of all providers.
func (s *Service) Figures() []Figures {
	now := s.clock.Now()
	all := s.all()
	list := make([]Figures, 0, len(all))
	at := map[*provider]int{}
	for _, name := range names(all) {
		p := all[name]
		f := Figures{Provider: p.name, Hits: p.hits.Load(), Misses: p.misses.Load()}
		p.mu.Lock()
		f.Fetches, f.FetchTime = maps.Clone(p.answers), p.asked
		p.mu.Unlock()
		at[p] = len(list)
		list = append(list, f)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, e := range s.entries {
		i, there := at[e.from]
		if !there {
			continue
		}
		f := &list[i]
		v := e.state.Load()
		switch {
		case v != nil:
			f.Cached++
			f.Bytes += e.size
			f.Oldest = max(f.Oldest, now.Sub(v.at))
			if v.stale {
				f.Stale++
			}
		case e.failed != nil:
			f.Failed++
		}
	}
	return list
}

// answered counts the answers of one call.
func (p *provider) answered(codes []string, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked += took
	for _, code := range codes {
		if _, known := p.answers[code]; !known && len(p.answers) >= maxCodes {
			code = codeOther
		}
		p.answers[code]++
	}
}
