package metrics_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/metrics"
)

func TestThreads(t *testing.T) {
	m, reg := newMetrics()
	m.Threads.Watch(func() metrics.ThreadFigures {
		return metrics.ThreadFigures{
			Active: map[core.ThreadStatus]int{core.ThreadRunning: 3, core.ThreadBlocked: 1}, QueuedInputs: 7,
			Workspaces: map[core.WorkspaceStatus]int{core.WorkspaceReady: 4}, WorkspaceBytes: 4096,
			Fetches: 9, FetchesFailed: 2, Experiences: 12,
		}
	})
	m.Threads.ThreadSpawned("claude")
	m.Threads.TurnEnded(time.Second)
	m.Threads.TurnEnded(time.Minute)
	m.Threads.ThreadRestarted()
	m.Threads.PromptBlocked(true)
	m.Threads.PromptBlocked(false)
	m.Threads.ThreadEnded(core.ThreadCompleted, core.CompletionPartial, time.Hour)
	m.Threads.ThreadEnded(core.ThreadFailed, core.CompletionFailed, time.Second)
	m.Threads.ThreadEnded(core.ThreadStopped, "", time.Minute)
	expect(t, reg, map[string]float64{
		"service_threads_active{status=running}":                         3,
		"service_threads_active{status=blocked}":                         1,
		"service_threads_active{status=pending}":                         0,
		"service_thread_inputs_queued{}":                                 7,
		"service_threads_spawned_total{type=claude}":                     1,
		"service_thread_turn_duration_seconds{}":                         2,
		"service_thread_restarts_total{}":                                1,
		"service_thread_prompts_total{answer=rule}":                      1,
		"service_thread_prompts_total{answer=people}":                    1,
		"service_threads_ended_total{outcome=partial,status=completed}":  1,
		"service_threads_ended_total{outcome=complete,status=completed}": 0,
		"service_threads_ended_total{outcome=failed,status=failed}":      1,
		"service_threads_ended_total{outcome=,status=stopped}":           1,
		"service_thread_duration_seconds{status=completed}":              1,
		"service_workspaces{status=ready}":                               4,
		"service_workspaces{status=reserved}":                            0,
		"service_workspace_bytes{}":                                      4096,
		"service_workspace_fetches_total{outcome=ok}":                    7,
		"service_workspace_fetches_total{outcome=failed}":                2,
		"service_memory_experiences{}":                                   12,
	})
}
