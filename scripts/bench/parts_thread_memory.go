package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// threadMemory measures queries of many experiences over the API, and what they cost a core that starts.
func (b *bench) threadMemory(ctx context.Context) error {
	many, queries := 100_000, 2000
	if b.quick {
		many, queries = 10_000, 300
	}
	prose := newProse()
	if err := seedExperiences(ctx, filepath.Join(b.dir, "memory"), many, prose); err != nil {
		return fmt.Errorf("store %d experiences: %w", many, err)
	}
	label := fmt.Sprintf("%d experiences", many)
	s, answered, err := b.serveMemory(ctx)
	if err != nil {
		return err
	}
	b.add("memory", label+", no index yet: core ready", float64(s.Took.Milliseconds()), "%.0f ms", 0, true, "")
	b.add("memory", label+", no index yet: the first query is answered after that", answered.Seconds(), "%.1f s", 0, true, "it is built meanwhile")
	if err := s.Stop(testbed.ReadyLimit); err != nil {
		return err
	}
	s, answered, err = b.serveMemory(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	b.add("memory", label+": core ready", float64(s.Took.Milliseconds()), "%.0f ms", 1000, true, "")
	b.add("memory", label+": the first query is answered after that", float64(answered.Milliseconds()), "%.0f ms", 0, true, "")
	for _, c := range []struct {
		name  string
		limit float64
		ask   func() error
	}{
		{"query of 3 to 10 words", 50, func() error {
			_, err := s.Client.ListExperiences(ctx, api.ExperienceFilter{Query: prose.text(3 + prose.random.IntN(8))})
			return err
		}},
		{"query of 6 words within a repository", 50, func() error {
			_, err := s.Client.ListExperiences(ctx, api.ExperienceFilter{Query: prose.text(6), Repo: "git/repo3"})
			return err
		}},
		{"prepare with an objective of 40 words", 0, func() error {
			_, err := s.Client.PrepareThread(ctx, api.ThreadSpec{ExecutionID: api.NewExecution, Role: "role1", Objective: prose.text(40)})
			return err
		}},
	} {
		n := queries
		if c.limit == 0 {
			n = min(n, 300) // each reserves a workspace, of which there are not more
		}
		before := testbed.CPUTime(s.PID())
		l, err := timed(n, c.ask)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		name := fmt.Sprintf("%s: %s, %d times", label, c.name, n)
		b.add("memory", name+", p50", l.quantile(.5), "%.2f ms", c.limit, true, fmt.Sprintf("CPU of the core %.2f ms each", perStep(testbed.CPUTime(s.PID())-before, n)))
		b.add("memory", name+", p99", l.quantile(.99), "%.2f ms", c.limit, true, fmt.Sprintf("slowest %.1f ms", l.quantile(1)))
	}
	index, err := onDisk(filepath.Join(storePath(s.Dir), "memory-index"))
	if err != nil {
		return err
	}
	b.add("memory", label+": the index on disk", index, "%.0f MiB", 0, true, "")
	b.add("memory", label+": memory of the core after that", anonymous(s.PID()), "%.0f MiB", 0, true, fmt.Sprintf("%.0f MiB with mapped files", rss(s.PID())))
	return nil
}

// serveMemory starts a core on the experiences, and tells how long after it was ready it answers a query.
func (b *bench) serveMemory(ctx context.Context) (*server, time.Duration, error) {
	s, err := b.serve(ctx, "memory")
	if err != nil {
		return nil, 0, err
	}
	start := time.Now()
	err = testbed.Until(ctx, 5*time.Minute, "the index answers", func(ctx context.Context) (bool, error) {
		list, err := s.Client.ListExperiences(ctx, api.ExperienceFilter{Query: "word1", Page: api.Page{Limit: 1}})
		if refused := new(api.Error); errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable {
			return false, nil
		}
		return err == nil && list.Total > 0, err
	})
	if err != nil {
		s.stop()
		return nil, 0, err
	}
	return s, time.Since(start), nil
}

// timed does something again and again, one after the other.
func timed(n int, do func() error) (load, error) {
	l := load{requests: n, latencies: make([]time.Duration, n)}
	begun := time.Now()
	for i := range n {
		start := time.Now()
		if err := do(); err != nil {
			return l, err
		}
		l.latencies[i] = time.Since(start)
	}
	l.elapsed = time.Since(begun)
	slices.Sort(l.latencies)
	return l, nil
}

// prose makes texts whose words are as common and as rare as in real ones.
type prose struct {
	random *rand.Rand
	words  *rand.Zipf
}

func newProse() *prose {
	random := rand.New(rand.NewPCG(1, 2))
	return &prose{random: random, words: rand.NewZipf(random, 1.15, 4, 30_000)}
}

func (p *prose) text(n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "word%d ", p.words.Uint64())
	}
	return strings.TrimSpace(b.String())
}

// seedExperiences stores n experiences of half a year through the store package.
func seedExperiences(ctx context.Context, path string, n int, p *prose) error {
	s, err := store.Open(ctx, store.Options{Path: storePath(path), MinFreeBytes: 64 << 20})
	if err != nil {
		return err
	}
	const piece, age = 500, 180 * 24 * time.Hour
	clock := &spread{now: time.Now().Add(-age).UTC(), step: age / time.Duration(2*n+1)} // an id looks too
	ids := core.NewIDs(clock)
	for from := 0; from < n; from += piece {
		err := s.Update(ctx, func(tx core.Tx) error {
			for i := from; i < min(from+piece, n); i++ {
				details, err := json.Marshal(map[string]any{"artifacts": []any{map[string]any{"type": "file", "value": p.text(20)}}})
				if err != nil {
					return err
				}
				err = tx.PutExperience(&core.Experience{
					Experience: wire.Experience{
						ID: ids.New(core.PrefixMemory), ExecutionID: fmt.Sprintf("exec_%d", i/5), Role: fmt.Sprintf("role%d", i%7),
						Repo: fmt.Sprintf("git/repo%d", i%40), Objective: p.text(8 + p.random.IntN(20)), Summary: p.text(20 + p.random.IntN(50)),
						Outcome: core.ExperienceOutcomes[i%3], Details: details, CreatedAt: clock.Now(), Count: 1,
					},
					Fingerprint: fmt.Sprintf("%032x", i),
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.Close()
}
