package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
)

// What a candidate gains. Relevance to the objective is 0 to 1, the best one found being 1.
const (
	weightRelevance = 1.0
	weightRepo      = 0.5
	weightRole      = 0.25
	weightSuccess   = 0.1
	weightOther     = 0.05 // partial and failed work teaches as well
	weightFresh     = 0.2  // of one that was made just now; half of it after freshFor
	freshFor        = 60 * 24 * time.Hour
	// leastRelevance is the least relevance of an experience of another repository and role.
	leastRelevance = 0.3
)

// How many candidates are looked at.
const (
	candidatesFound    = 50 // by words
	candidatesOfRepo   = 30 // by words, in the same repository
	candidatesNewest   = 10 // of the same repository, and of the same role
	maxDecisionsLooked = 1000
	decisionsOfOnePage = core.MaxPageLimit
	maxObjectiveQuery  = 2000 // bytes of the objective that are searched for
)

// Recall implements core.MemoryService. While there is no index, what is newest of the repository and the role stands in
// for what is relevant.
func (s *Service) Recall(ctx context.Context, q core.MemoryQuery) (*core.MemoryContext, error) {
	c := s.config.Load()
	m := &core.MemoryContext{MemoryQuery: q}
	var err error
	if m.Decisions, err = s.decisions(ctx, q, c.MaxDecisions); err != nil {
		return nil, err
	}
	if m.Experiences, err = s.experiences(ctx, q, c.MaxExperiences); err != nil {
		return nil, err
	}
	if q.Mask != nil {
		mask(m)
	}
	s.write(m, c.MaxContextBytes)
	return m, nil
}

// decisions returns the decisions that a thread gets: by hand first, then by rank and age.
func (s *Service) decisions(ctx context.Context, q core.MemoryQuery, most int) ([]*core.Decision, error) {
	if q.ExecutionID == "" || q.ExecutionID == core.NewExecution || most <= 0 {
		return nil, nil
	}
	var all []*core.Decision
	page := core.Page{Limit: decisionsOfOnePage}
	for {
		list, info, err := s.store.FindDecisions(ctx, core.DecisionFilter{ExecutionID: q.ExecutionID, Page: page})
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		if info.NextCursor == "" || len(all) >= maxDecisionsLooked {
			break
		}
		page.Cursor = info.NextCursor
	}
	slices.SortStableFunc(all, func(a, b *core.Decision) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.ID, a.ID))
	})
	return all[:min(len(all), most)], nil
}

// rank orders kinds of decisions by their use to others; the lowest comes first.
func rank(d *core.Decision) int {
	if d.ByHand() {
		return 0
	}
	switch d.Category {
	case core.DecisionFinding:
		return 1
	case core.DecisionFailureRecovery:
		return 2
	case core.DecisionCompletionOutcome:
		return 3
	}
	return 4
}

// candidate is an experience that may be told.
type candidate struct {
	*core.Experience
	relevance float64 // 0 to 1
	score     float64
}

// experiences returns the experiences that a thread gets, the best first.
func (s *Service) experiences(ctx context.Context, q core.MemoryQuery, most int) ([]*core.Experience, error) {
	if most <= 0 {
		return nil, nil
	}
	all := map[string]*candidate{}
	if err := s.relevant(ctx, q, all); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.log.Warn("a thread begins without a search for what is relevant", "error", err)
	}
	for _, f := range []core.ExperienceFilter{{Repo: q.Repo}, {Role: q.Role}} {
		if f == (core.ExperienceFilter{}) {
			continue
		}
		f.Limit = candidatesNewest
		list, _, err := s.store.FindExperiences(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if all[e.ID] == nil {
				all[e.ID] = &candidate{Experience: e}
			}
		}
	}
	now := s.clock.Now()
	list := make([]*candidate, 0, len(all))
	for _, c := range all {
		repo, role := q.Repo != "" && c.Repo == q.Repo, q.Role != "" && c.Role == q.Role
		if !repo && !role && c.relevance < leastRelevance {
			continue
		}
		c.score = weightRelevance * c.relevance
		if repo {
			c.score += weightRepo
		}
		if role {
			c.score += weightRole
		}
		if c.Outcome == core.ExperienceSuccessful {
			c.score += weightSuccess
		} else {
			c.score += weightOther
		}
		age := max(now.Sub(lastMade(c.Experience)), 0)
		c.score += weightFresh * math.Exp2(-float64(age)/float64(freshFor))
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.ID, a.ID))
	})
	out := make([]*core.Experience, 0, most)
	for _, c := range list {
		if len(out) == most {
			break
		}
		if c.ExecutionID != q.ExecutionID && s.guarded(c.Experience) {
			continue // kept before that was so
		}
		e := *c.Experience
		e.Score = math.Round(c.score*1e4) / 1e4
		out = append(out, &e)
	}
	return out, nil
}

// relevant adds the experiences whose words are those of the objective.
func (s *Service) relevant(ctx context.Context, q core.MemoryQuery, all map[string]*candidate) error {
	if strings.TrimSpace(q.Objective) == "" || q.Mask != nil && hides(q.Mask) {
		return nil
	}
	waiting, cancel := context.WithCancel(ctx)
	timer := s.clock.AfterFunc(recallWait, cancel)
	err := s.settle(waiting)
	timer.Stop()
	cancel()
	if err != nil {
		return err
	}
	words := bounded(q.Objective, maxObjectiveQuery)
	found, _, err := s.find(ctx, core.ExperienceFilter{Query: words, NoDetails: q.Mask != nil}, 0, candidatesFound)
	if err != nil {
		return err
	}
	if q.Repo != "" {
		same, _, err := s.find(ctx, core.ExperienceFilter{Query: words, NoDetails: q.Mask != nil, Repo: q.Repo}, 0, candidatesOfRepo)
		if err != nil {
			return err
		}
		for _, h := range same {
			if !slices.ContainsFunc(found, func(other hit) bool { return other.id == h.id }) {
				found = append(found, h)
			}
		}
	}
	best := 0.0
	for _, h := range found {
		best = max(best, h.score)
	}
	list, err := s.read(ctx, found)
	if err != nil || best <= 0 {
		return err
	}
	for _, e := range list {
		all[e.ID] = &candidate{Experience: e, relevance: min(e.Score/best, 1)}
	}
	return nil
}
