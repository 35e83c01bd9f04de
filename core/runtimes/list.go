package runtimes

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// labelExecution is the label of agents that work for an execution.
const labelExecution = "wardroom.execution"

// FindManagedAgents implements core.ManagedAgentService. The cursor is the id of the last row.
func (s *Service) FindManagedAgents(_ context.Context, filter core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error) {
	var all []*core.ManagedAgentRecord
	s.mu.RLock()
	for _, id := range s.ordered {
		all = append(all, s.agents[id])
	}
	s.mu.RUnlock()
	all = slices.DeleteFunc(all, func(r *core.ManagedAgentRecord) bool {
		if filter.Type != "" && r.Type != filter.Type || filter.Runtime != "" && r.Runtime != filter.Runtime ||
			filter.CreatedBy != "" && r.CreatedBy != filter.CreatedBy || filter.SessionID != "" && r.SessionID != filter.SessionID {
			return true
		}
		if filter.Name != "" && !strings.Contains(strings.ToLower(r.Name), strings.ToLower(filter.Name)) ||
			filter.Execution != "" && r.Spec.Labels[labelExecution] != filter.Execution {
			return true
		}
		for name, value := range filter.Labels {
			if have, ok := r.Spec.Labels[name]; !ok || have != value {
				return true
			}
		}
		if filter.Status == "" && filter.Reason == "" {
			return false
		}
		shown := s.view(r)
		return filter.Status != "" && shown.Status != filter.Status || filter.Reason != "" && shown.StatusReason != filter.Reason
	})
	page, info, err := core.PageOf(all, filter.Page, core.PrefixManaged, func(r *core.ManagedAgentRecord) string { return r.ID })
	if err != nil {
		return nil, core.PageInfo{}, err
	}
	rows := make([]*core.ManagedAgent, len(page))
	for i, r := range page {
		rows[i] = s.view(r)
	}
	return rows, info, nil
}

// FindManagedAgent implements core.ManagedAgentService.
func (s *Service) FindManagedAgent(_ context.Context, id string) (*core.ManagedAgent, error) {
	r, err := s.record(id)
	if err != nil {
		return nil, err
	}
	return s.view(r), nil
}

// view is what callers see of a record: an agent that runs as far as is known, and that cannot be reached, says so.
func (s *Service) view(r *core.ManagedAgentRecord) *core.ManagedAgent {
	a := r.ManagedAgent
	a.Labels = maps.Clone(r.Spec.Labels)
	a.ReadyTimeoutMs = runtime.DefaultReadyTimeout.Milliseconds()
	if declared, ok := s.opts.Types[r.Type]; ok && declared.Ready.Timeout > 0 {
		a.ReadyTimeoutMs = time.Duration(declared.Ready.Timeout).Milliseconds()
	}
	if r.Gone() {
		return &a
	}
	if !s.reaches(r.Runtime) {
		a.Status, a.StatusReason = core.ManagedUnreachable, core.ReasonRuntimeAway
	} else if s.isAway(r.ID) {
		a.Status, a.StatusReason = core.ManagedUnreachable, core.ReasonAgentAway
	}
	return &a
}

// reaches reports whether a runtime is there.
func (s *Service) reaches(name string) bool {
	src := s.source(name)
	if src == nil {
		return false
	}
	ready, _ := src.ready()
	return ready
}

// lookTime bounds how long a list of the runtimes waits for what they say anew.
const lookTime = 2 * time.Second

// LookAtRuntimes implements core.ManagedAgentService. A runtime that does not answer in time is shown as it was.
func (s *Service) LookAtRuntimes(ctx context.Context) []core.RuntimeInfo {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var asked sync.WaitGroup
	for _, src := range s.configured() {
		if ready, _ := src.ready(); !ready {
			continue
		}
		asked.Go(func() {
			if caps, err := src.Runtime.Capabilities(ctx); err == nil {
				src.setCapabilities(caps)
			}
		})
	}
	asked.Wait()
	return s.Runtimes(ctx)
}

// Runtimes implements core.ManagedAgentService.
func (s *Service) Runtimes(context.Context) []core.RuntimeInfo {
	running := make(map[string]int)
	s.mu.RLock()
	for _, r := range s.agents {
		if !r.Gone() {
			running[r.Runtime]++
		}
	}
	s.mu.RUnlock()
	infos := make([]core.RuntimeInfo, 0, len(s.configured()))
	for _, src := range s.configured() {
		caps := src.capabilities()
		info := core.RuntimeInfo{
			Name: src.Name, Priority: src.Priority, Types: slices.Clone(caps.Types), Agents: running[src.Name], MaxAgents: caps.MaxAgents,
			MissingTypes: slices.Clone(caps.MissingTypes), Isolation: caps.Isolation,
		}
		for kind := range s.opts.Types {
			if !slices.Contains(info.Types, kind) {
				info.Types = append(info.Types, kind)
			}
		}
		slices.Sort(info.Types)
		if info.Types == nil {
			info.Types = []string{}
		}
		info.Ready, info.Reason = src.takes()
		infos = append(infos, info)
	}
	return infos
}
