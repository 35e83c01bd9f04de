package appliance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/health"
	"github.com/wardroom/wardroom/core/memory"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/core/threads"
	"github.com/wardroom/wardroom/core/threads/report"
	"github.com/wardroom/wardroom/core/workspace"
)

var _ threads.Observer = (*metrics.Threads)(nil)

// workspaceRoot is the directory of workspaces. By default it lies within that of the store, as the state of plugins
// does.
func workspaceRoot(c *config.Config) string {
	if c.Threads.Root != "" {
		return c.Threads.Root
	}
	return filepath.Join(c.Store.Path, "workspaces")
}

// newThreads makes what threads consist of, and opens what they need: the threads themselves open after the agents.
func (a *App) newThreads(ctx context.Context) error {
	c := a.config.Load()
	places, err := a.workspaceConfig(c)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(workspaceRoot(c))
	if err != nil {
		return fmt.Errorf("find the directory of workspaces: %w", err)
	}
	a.workspaces = workspace.New(workspace.Options{
		Store: a.store, Clock: a.clock, Older: a.store.Older, IDs: a.ids, Logger: a.log.Named("workspaces"), Root: root, Config: places,
	})
	if err := a.workspaces.Open(ctx); err != nil {
		return fmt.Errorf("open the workspaces: %w", err)
	}
	if c.Security.Encryption.AtRest.Enabled {
		if err := os.RemoveAll(memoryIndex(c)); err != nil {
			return fmt.Errorf("remove the index of experiences that is in clear: %w", err)
		}
	}
	a.memory = memory.New(memory.Options{
		Store: a.store, Path: indexPath(c), Clock: a.clock, Older: a.store.Older,
		IDs: a.ids, Logger: a.log, Config: memoryConfig(c), Instructions: report.Instructions(),
		Guarded: a.guardedExecution,
	})
	if err := a.memory.Open(ctx); err != nil {
		return fmt.Errorf("open the memory: %w", err)
	}
	key, err := sealKey(c.Store.Path, threadKeyFile)
	if err != nil {
		return err
	}
	a.threads = threads.New(threads.Options{
		Store: a.store, Streams: a.streams, ManagedAgents: a.runtimes, Hosts: a.agents, Workspaces: a.workspaces, Memory: a.memory,
		Clock: a.clock, IDs: a.ids, Logger: a.log.Named("threads"), Config: threadsConfig(c), SealKey: key, Observer: a.metrics.Threads,
		Tracer: a.tracing, Opens: a.opens,
		AgentTypes: a.agentTypes, Approver: a.approvals, Secrets: a.secrets.Requested("threads"),
	})
	a.agents.SetThreadSink(a.threads)
	return nil
}

// indexPath is where the index of experiences is; "" for one in memory. It would say on disk what an encrypted store hides.
func indexPath(c *config.Config) string {
	if c.Security.Encryption.AtRest.Enabled {
		return ""
	}
	return memoryIndex(c)
}

func memoryIndex(c *config.Config) string { return filepath.Join(c.Store.Path, "memory-index") }

// threadFigures is what metrics show of threads, workspaces and memory.
func (a *App) threadFigures() metrics.ThreadFigures {
	s := a.threads.Stats()
	git := a.workspaces.Stats()
	f := metrics.ThreadFigures{
		Active: s.ByStatus, QueuedInputs: s.Queued, Workspaces: map[core.WorkspaceStatus]int{},
		Fetches: git.Fetches, FetchesFailed: git.Failed,
	}
	// A store that does not answer is reported by its own series; the figures are zero meanwhile.
	if list, err := a.store.AllWorkspaces(context.Background()); err == nil {
		for _, w := range list {
			f.Workspaces[w.Status]++
			if w.Status != core.WorkspaceRemoved {
				f.WorkspaceBytes += w.SizeBytes
			}
		}
	}
	if _, info, err := a.store.FindExperiences(context.Background(), core.ExperienceFilter{Page: core.Page{Limit: 1}}); err == nil {
		f.Experiences = info.Total
	}
	return f
}

// checkGit reports a machine without git, or with one that is too old.
func (a *App) checkGit(context.Context) health.Result {
	if err := a.workspaces.GitState(); err != nil {
		return health.Impaired("threads with a repository are refused, those without one work: "+err.Error(),
			"install git 2.36 or newer; the next thread with a repository looks for it again")
	}
	return health.OK()
}

// endThreads ends the threads of a temporary server, those included that connected agents host.
func (a *App) endThreads() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	active, err := a.store.ActiveThreads(ctx)
	if err != nil {
		a.log.Warn("the threads were not ended", "error", err)
		return
	}
	var stops errgroup.Group
	stops.SetLimit(32)
	for _, t := range active {
		stops.Go(func() error { return a.threads.StopThread(ctx, t.ID, core.ThreadStop{Force: true, Grace: time.Second}) })
	}
	if err := stops.Wait(); err != nil {
		a.log.Warn("a thread was not ended", "error", err)
	}
}

func threadsConfig(c *config.Config) threads.Config {
	return threads.Config{
		MaxThreads: c.Threads.MaxThreads, MaxQueued: c.Threads.MaxQueuedInputs, IdleTimeout: c.Threads.IdleTimeout,
		Timeout: c.Threads.Timeout, MaxRestarts: c.Threads.MaxRestarts, SummarizeAfterTurns: c.Threads.SummarizeAfterTurns,
		TurnRetries: c.Threads.TurnRetries, TurnRetryDelay: c.Threads.TurnRetryDelay, WaitAlert: c.Threads.WaitAlert,
		SpawnsAtOnce: c.Threads.SpawnsAtOnce, AutoAnswer: c.Threads.AutoAnswer,
		RequireConsent:  c.Security.Compliance.ConsentRequired(),
		SanitizeHTML:    c.Security.InputValidation.SanitizesHTML(),
		SanitizeScripts: c.Security.InputValidation.SanitizesScripts(),
	}
}

func memoryConfig(c *config.Config) memory.Config {
	m := c.Threads.Memory
	return memory.Config{
		MaxDecisions: m.MaxDecisions, MaxExperiences: m.MaxExperiences, MaxContextBytes: int(m.MaxContext),
		MaxAge: c.Security.Compliance.ExecutionAge(m.Keep), MaxCount: m.MaxCount,
	}
}
