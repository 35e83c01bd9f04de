package metrics_test

import (
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/metrics"
)

func TestThreads(t *testing.T) {
	m, reg := newMetrics()
	m.Threads.Watch(func() metrics.ThreadFigures {
		return metrics.ThreadFigures{
			Active: map[core.ThreadStatus]int{core.ThreadRunning: 3, core.ThreadBlocked: 1}, QueuedInputs: 7,
			Workspaces: map[core.WorkspaceStatus]int{core.WorkspaceReady: 4}, WorkspaceBytes: 4096,
			Fetches: 5, FetchFailures: 2, Experiences: 12,
		}
	})
	m.Threads.Committed([]core.Event{
		{Type: core.EventThreadTurnComplete}, {Type: core.EventThreadTurnComplete}, {Type: core.EventThreadReady},
		{Type: core.EventThreadCompleted, Data: json.RawMessage(`{"completion":{"state":"partial"}}`)},
		{Type: core.EventThreadFailed, Data: json.RawMessage(`{"completion":{"state":"failed"}}`)},
		{Type: core.EventThreadStopped, Data: json.RawMessage(`{"reason":"requested"}`)},
		{Type: core.EventThreadStopped, Data: json.RawMessage(`nonsense`)},
	})
	expect(t, reg, map[string]float64{
		"service_threads_active{status=running}":                         3,
		"service_threads_active{status=blocked}":                         1,
		"service_threads_active{status=pending}":                         0,
		"service_thread_inputs_queued{}":                                 7,
		"service_thread_turns_total{}":                                   2,
		"service_threads_ended_total{outcome=partial,status=completed}":  1,
		"service_threads_ended_total{outcome=complete,status=completed}": 0,
		"service_threads_ended_total{outcome=failed,status=failed}":      1,
		"service_threads_ended_total{outcome=,status=stopped}":           2,
		"service_workspaces{status=ready}":                               4,
		"service_workspaces{status=reserved}":                            0,
		"service_workspace_bytes{}":                                      4096,
		"service_mirror_fetches_total{result=ok}":                        3,
		"service_mirror_fetches_total{result=failed}":                    2,
		"service_memory_experiences{}":                                   12,
	})
}
