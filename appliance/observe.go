package appliance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/engine"
	"github.com/wardroom/wardroom/core/health"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/core/store"
)

// observer counts the work of the engine.
type observer struct {
	*metrics.Executions
	*metrics.Engine
}

var _ engine.Observer = observer{}

// seedTotals lets the totals go on where the process before left them.
func (a *App) seedTotals(ctx context.Context) error {
	counts, err := a.store.CountExecutions(ctx)
	if err != nil {
		return err
	}
	var stored, active int64
	for _, statuses := range counts {
		for status, n := range statuses {
			stored += int64(n)
			if !status.Terminal() {
				active += int64(n)
			}
		}
	}
	a.metrics.Executions.Seed(stored, active)
	if err := a.seedPatterns(ctx); err != nil {
		return err
	}
	return a.seedTimes(ctx)
}

// seedPatterns has the series of the stored patterns there from the start, as many as there may be.
func (a *App) seedPatterns(ctx context.Context) error {
	page := core.Page{Limit: core.MaxPageLimit}
	for range metrics.MaxLabelValues / core.MaxPageLimit {
		list, info, err := a.patterns.FindPatterns(ctx, core.PatternFilter{Page: page})
		if err != nil {
			return err
		}
		for _, p := range list {
			a.metrics.Executions.Known(p.Name)
		}
		if page.Cursor = info.NextCursor; !info.HasMore {
			return nil
		}
	}
	return nil
}

// seedPages is how many pages of the newest executions the mean duration goes on from.
const seedPages = 10

// seedTimes lets the mean duration go on from the newest executions that are over, however they ended.
func (a *App) seedTimes(ctx context.Context) error {
	var over []core.ExecutionStatus
	for _, status := range core.ExecutionStatuses {
		if status.Terminal() {
			over = append(over, status)
		}
	}
	page := core.Page{Limit: core.MaxPageLimit}
	for range seedPages {
		list, info, err := a.store.FindExecutions(ctx, core.ExecutionFilter{Statuses: over, Page: page})
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.CompletedAt != nil {
				a.metrics.Executions.SeedTimes(1, e.Duration(*e.CompletedAt))
			}
		}
		if page.Cursor = info.NextCursor; !info.HasMore {
			return nil
		}
	}
	return nil
}

// committed hands on what the store has written.
func (a *App) committed(events []core.Event) {
	a.counter.Touch()
	if len(events) == 0 {
		return
	}
	a.metrics.Executions.Committed(events)
	a.metrics.Questions.Committed(events)
	a.bus.Publish(events)
	if hooks := a.publish.Load(); hooks != nil && slices.ContainsFunc(events, func(e core.Event) bool { return e.Public() }) {
		hooks.Notify()
	}
}

// gatherer reads the queue's length and the open questions at each scrape, before the series are gathered, and adds
// those of plugins.
func (a *App) gatherer() prometheus.Gatherer {
	own := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		figures := a.engine.Stats()
		a.metrics.Engine.QueueLength(figures.Waiting)
		a.metrics.Engine.Parked(figures.Parked)
		open := core.QuestionFilter{Status: core.QuestionOpen, Page: core.Page{Limit: 1}}
		// A store that does not answer is reported by its own series; the figure stays as it was.
		if _, info, err := a.store.FindQuestions(context.Background(), open); err == nil {
			a.metrics.Questions.Open(info.Total)
		}
		return a.registry.Gather()
	})
	return prometheus.Gatherers{own, a.plugins}
}

// storeFigures is what metrics show of the store.
func (a *App) storeFigures() metrics.StoreFigures {
	s := a.store.Stats()
	readOnly, _ := a.store.State()
	failures := map[string]int64{}
	for _, kind := range store.RetentionKinds {
		failures[kind] = 0
	}
	for _, f := range a.store.RetentionFailures() {
		failures[f.Kind] = f.Count
	}
	encryption := a.store.EncryptionStatus()
	figures := metrics.StoreFigures{
		Commits: s.Commits, Updates: s.Updates, CommitTime: s.CommitTime, Failures: s.Failures,
		Size: s.LSMBytes + s.ValueBytes, Free: int64(s.FreeBytes), ReadOnly: readOnly,
		Broken: int64(len(a.store.Broken())), Retention: failures,
	}
	if encryption.Enabled {
		figures.Encrypted, figures.MasterKey = true, encryption.MasterKey
		figures.DataKey = strconv.FormatUint(uint64(encryption.DataKey), 10)
		if encryption.Resealing {
			figures.Unsealed = encryption.Total - encryption.Done
		}
	}
	return figures
}

// agentFigures is what metrics show of the agents' registry.
func (a *App) agentFigures() metrics.AgentFigures {
	s := a.agents.Stats()
	return metrics.AgentFigures{
		Connected: s.Connected, FramesIn: s.FramesRead, FramesOut: s.FramesSent, Resumes: s.Resumes, SessionsUp: s.Sessions,
		Refused: map[string]int64{"bad_frame": s.BadFrames, "rate": s.RateLimited, "overflow": s.Overflows},
	}
}

// registerChecks names what health watches.
func (a *App) registerChecks() {
	a.health.Register(health.Check{Name: "store", Severity: health.Required, Run: a.checkStore})
	a.health.Register(health.Check{Name: "agents", Severity: health.Degraded, Run: a.checkAgents})
	a.health.Register(health.Check{Name: "git", Severity: health.Degraded, Run: a.checkGit})
	a.health.Register(health.Check{Name: "webhooks", Severity: health.Degraded, Run: a.checkWebhooks})
	a.health.Register(health.Check{Name: "queue", Severity: health.Degraded, Run: a.checkQueue})
}

func (a *App) checkStore(ctx context.Context) health.Result {
	if readOnly, reason := a.store.State(); readOnly {
		return health.Failed("writes are refused: "+reason,
			"free disk space on the store's file system, or add some; writes are taken again by themselves")
	}
	if _, err := a.store.FindExecution(ctx, core.PrefixExecution); core.ErrorCode(err) != core.CodeNotFound {
		return health.Failed("the store does not answer reads", "look into the log; restart the service if it lasts")
	}
	for _, f := range a.store.RetentionFailures() {
		if !f.Since.IsZero() {
			return health.Impaired(fmt.Sprintf("%s are not retired since %s: %s", f.Kind, f.Since.UTC().Format(time.RFC3339), f.Reason),
				"look into the log; the next run tries again within the hour")
		}
	}
	if st := a.store.EncryptionStatus(); st.Failed != "" {
		return health.Impaired("records are still sealed by a former data key: "+st.Failed, "look into the log; it is tried again every minute")
	}
	for _, step := range a.store.ClockSteps() {
		if step.Until > 0 {
			return health.Impaired("the clock "+clockText(step), "set the clock if it is wrong; otherwise this ends by itself")
		}
	}
	if n := len(a.store.Broken()); n > 0 {
		return health.Impaired(fmt.Sprintf("%d stored records cannot be read and are passed over", n),
			"stop the service; `wardroom store check` lists them, `wardroom store repair` removes them")
	}
	return health.OK()
}

func (a *App) checkAgents(ctx context.Context) health.Result {
	_, _, counts, err := a.agents.FindAgents(ctx, core.AgentFilter{Page: core.Page{Limit: 1}})
	if err != nil {
		return health.Failed("the agents cannot be listed", "look into the log")
	}
	if sick := counts.Connected - counts.Healthy; sick > 0 {
		return health.Impaired(fmt.Sprintf("%d of %d connected agents miss heartbeats", sick, counts.Connected),
			"`wardroom agent list` shows which")
	}
	return health.OK()
}

func (a *App) checkQueue(context.Context) health.Result {
	limit := a.config.Load().Engine.MaxQueued
	if waiting := a.engine.Stats().Queued; waiting*10 >= limit*9 {
		return health.Impaired(fmt.Sprintf("%d executions wait; at %d new ones are refused", waiting, limit),
			"connect more agents, or raise engine.maxActive and engine.maxQueued")
	}
	return health.OK()
}
