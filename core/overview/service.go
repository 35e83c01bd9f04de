package overview

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// Store is the part of the durable state that the service reads.
type Store interface {
	core.QuestionReader
	FindThreads(ctx context.Context, filter core.ThreadFilter) ([]*core.ThreadRecord, core.PageInfo, error)
	FindBatches(ctx context.Context, filter core.BatchFilter) ([]*core.Batch, core.PageInfo, error)
	FindDeliveries(ctx context.Context, filter core.DeliveryFilter) ([]*core.Delivery, core.PageInfo, error)
	CountExecutions(ctx context.Context) (map[string]map[core.ExecutionStatus]int, error)
	Throughput(ctx context.Context) (*core.Throughput, error)
}

// Options are what a Service is made of. All fields are required.
type Options struct {
	Store  Store
	Agents interface {
		FindAgents(ctx context.Context, filter core.AgentFilter) ([]*core.Agent, core.PageInfo, core.AgentCounts, error)
	}
	Managed Managed
	Clock   core.Clock
	// ThreadLabel and RoleLabel are the labels of managed agents that belong to a thread or a role.
	ThreadLabel, RoleLabel string
}

// Managed lists managed agents.
type Managed interface {
	FindManagedAgents(ctx context.Context, filter core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error)
}

// Service reads the inbox and the overview.
type Service struct{ opts Options }

var _ core.OverviewService = (*Service)(nil)

// New returns a service.
func New(opts Options) *Service { return &Service{opts} }

// one asks a list for its total.
var one = core.Page{Limit: 1}

// Overview implements core.OverviewService.
func (s *Service) Overview(ctx context.Context) (*core.Overview, error) {
	counts, err := s.Counts(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.opts.Store.Throughput(ctx)
	if err != nil {
		return nil, err
	}
	return &core.Overview{OverviewCounts: *counts, Ranges: t.Ranges, Minutes: t.Minutes, Hours: t.Hours}, nil
}

// Counts implements core.OverviewService.
func (s *Service) Counts(ctx context.Context) (*core.OverviewCounts, error) {
	v := &core.OverviewCounts{
		At: s.opts.Clock.Now(), Executions: map[string]int{}, Batches: map[string]int{}, Threads: map[string]int{}, Managed: map[string]int{},
	}
	counts, err := s.opts.Store.CountExecutions(ctx)
	if err != nil {
		return nil, err
	}
	for _, status := range core.ExecutionStatuses {
		v.Executions[string(status)] = 0
	}
	for _, statuses := range counts {
		for status, n := range statuses {
			v.Executions[string(status)] += n
		}
	}
	v.Waiting.Queue = v.Executions[string(core.ExecutionPending)]
	for _, status := range core.BatchStatuses {
		_, info, err := s.opts.Store.FindBatches(ctx, core.BatchFilter{Status: status, Page: one})
		if err != nil {
			return nil, err
		}
		v.Batches[string(status)] = info.Total
	}
	for _, status := range core.ThreadStatuses {
		_, info, err := s.opts.Store.FindThreads(ctx, core.ThreadFilter{Status: status, Page: one})
		if err != nil {
			return nil, err
		}
		v.Threads[string(status)] = info.Total
	}
	_, _, agents, err := s.opts.Agents.FindAgents(ctx, core.AgentFilter{Page: one})
	if err != nil {
		return nil, err
	}
	v.Agents.Connected, v.Agents.Healthy = agents.Connected, agents.Healthy
	managed, _, err := s.managed(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, status := range managedStatuses {
		v.Managed[string(status)] = 0
	}
	for _, a := range managed {
		v.Managed[string(a.Status)]++
		if core.WaitsForPerson(a.StatusReason) {
			v.Managed[a.StatusReason]++
		}
	}
	_, info, err := s.FindInbox(ctx, core.InboxFilter{Page: one})
	if err != nil {
		return nil, err
	}
	v.Waiting.People = info.Total
	_, info, err = s.opts.Store.FindDeliveries(ctx, core.DeliveryFilter{Status: core.DeliveryPending, Page: one})
	if err != nil {
		return nil, err
	}
	v.Waiting.Deliveries = info.Total
	return v, nil
}

var managedStatuses = []core.ManagedAgentStatus{
	core.ManagedStarting, core.ManagedReady, core.ManagedBusy, core.ManagedUnreachable, core.ManagedError, core.ManagedStopped,
}

// maxScan bounds the threads and the agents that one call looks at, each.
const maxScan = 5000

// managed returns all managed agents, or with by those that somebody made, up to maxScan; more reports whether there are others.
func (s *Service) managed(ctx context.Context, by string) (all []*core.ManagedAgent, more bool, err error) {
	page := core.Page{Limit: core.MaxPageLimit}
	for {
		list, info, err := s.opts.Managed.FindManagedAgents(ctx, core.ManagedAgentFilter{CreatedBy: by, Page: page})
		if err != nil {
			return nil, false, err
		}
		all = append(all, list...)
		if page.Cursor = info.NextCursor; !info.HasMore || page.Cursor == "" {
			return all, false, nil
		}
		if len(all) >= maxScan {
			return all, true, nil
		}
	}
}

// has reports whether a filter selects a source.
func has(sources []core.InboxSource, source core.InboxSource) bool {
	return len(sources) == 0 || slices.Contains(sources, source)
}
