package agents

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// FindAgents implements core.AgentService. The cursor is the id of the last agent of the page before.
func (s *Service) FindAgents(_ context.Context, filter core.AgentFilter) ([]*core.Agent, core.PageInfo, core.AgentCounts, error) {
	var info core.PageInfo
	var counts core.AgentCounts
	limit := cmp.Or(filter.Limit, core.DefaultPageLimit)
	switch {
	case limit < 0 || limit > core.MaxPageLimit:
		return nil, info, counts, core.Invalid("limit", "must be 1 to %d", core.MaxPageLimit)
	case filter.Offset < 0:
		return nil, info, counts, core.Invalid("offset", "must not be negative")
	case filter.Cursor != "" && !core.ValidID(core.PrefixAgent, filter.Cursor):
		return nil, info, counts, core.Invalid("cursor", "is not a cursor of this list")
	case filter.Status != "" && filter.Status != core.AgentConnected && filter.Status != core.AgentDisconnected:
		return nil, info, counts, core.Invalid("status", "must be %s or %s", core.AgentConnected, core.AgentDisconnected)
	}
	skip := filter.Offset
	if filter.Cursor != "" {
		skip = 0
	}
	page := []*core.Agent{}
	anyStatus := filter // counts are of connected and disconnected ones, whichever of them are asked for
	anyStatus.Status = ""
	for _, a := range slices.Backward(s.all()) {
		a.mu.Lock()
		if !a.matches(anyStatus) {
			a.mu.Unlock()
			continue
		}
		switch {
		case a.presence == gone:
			counts.Disconnected++
		default:
			counts.Connected++
			if a.healthy() {
				counts.Healthy++
			}
		}
		if !a.matches(filter) {
			a.mu.Unlock()
			continue
		}
		info.Total++
		switch {
		case filter.Cursor != "" && a.id >= filter.Cursor:
		case skip > 0:
			skip--
		case len(page) < limit:
			snapshot := a.snapshot()
			page = append(page, &snapshot)
		default:
			info.HasMore = true
		}
		a.mu.Unlock()
	}
	if info.HasMore {
		info.NextCursor = page[len(page)-1].ID
	}
	return page, info, counts, nil
}

// matches reports whether the agent passes the filter. a.mu is held.
func (a *agent) matches(f core.AgentFilter) bool {
	if f.Status != "" && (f.Status == core.AgentDisconnected) != (a.presence == gone) {
		return false
	}
	if f.Region != "" && f.Region != a.region || f.CreatedBy != "" && f.CreatedBy != a.by.id {
		return false
	}
	for _, c := range f.Capabilities {
		if _, ok := slices.BinarySearch(a.capabilities, c); !ok {
			return false
		}
	}
	return true
}

// FindAgent implements core.AgentService.
func (s *Service) FindAgent(_ context.Context, id string) (*core.Agent, error) {
	a := s.find(id)
	if a == nil {
		return nil, core.NotFound("agent", id)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	snapshot := a.snapshot()
	snapshot.HeldUntil = s.heldUntil(a)
	return &snapshot, nil
}

// heldUntil returns when the grace of a lost agent is over; nil for others, and while the grace did not begin. a.mu is held.
func (s *Service) heldUntil(a *agent) *time.Time {
	if a.presence != lost {
		return nil
	}
	since, begun := s.graceSince(a)
	if !begun {
		return nil
	}
	until := since.Add(s.config.Load().ResumeGrace)
	return &until
}
