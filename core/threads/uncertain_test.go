package threads_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// uncertain has the next agent be one of which it is not known whether it was started.
func (f *fakeAgents) uncertain() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spawn = func(spec core.ManagedAgentSpec) error {
		f.spawn = nil
		f.records = append(f.records, &core.ManagedAgentRecord{Spec: spec, Wanted: true, ManagedAgent: core.ManagedAgent{
			ID: "magent_uncertain", Type: spec.Type, Status: core.ManagedStarting, Runtime: "local",
		}})
		return core.Unavailable("runtime_unavailable", "no answer")
	}
}

// starts returns a thread whose agent may be starting, and never will be known to be.
func (r *rig) starts() string {
	r.t.Helper()
	id := r.spawn(spec()).ID
	r.until(id, "its start", func(rec *core.ThreadRecord) bool {
		return rec.Status == core.ThreadStarting && len(r.agents.all()) == 1
	})
	return id
}

// TestStopWhileStartIsUncertain stops threads whose agent was being started when nothing was heard of it any more: they do not wait
// for word of it.
func TestStopWhileStartIsUncertain(t *testing.T) {
	for name, tt := range map[string]struct {
		removed, force bool // whether the runtime is, from the configuration; and what is asked for
		forced         bool // what the agent gets
	}{
		"Stop": {}, "Force": {force: true, forced: true}, "RuntimeRemoved": {removed: true, forced: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, core.SystemClock{})
			r.agents.uncertain()
			r.open()
			id := r.starts()
			if tt.removed {
				r.agents.removeRuntime(r)
			}
			if err := r.StopThread(r.ctx, id, core.ThreadStop{Force: tt.force}); err != nil {
				t.Fatal(err)
			}
			r.until(id, "its end", func(rec *core.ThreadRecord) bool { return rec.Status.Terminal() })
			if r.agents.mu.Lock(); len(r.agents.stopped) != 1 || r.agents.stopped[0].Force != tt.forced || !r.agents.records[0].Gone() {
				t.Errorf("the agent was stopped by %+v", r.agents.stopped)
			}
			r.agents.mu.Unlock()
		})
	}
}

// removeRuntime starts the service anew without the runtime of the agents in its configuration.
func (f *fakeAgents) removeRuntime(r *rig) {
	r.t.Helper()
	r.Close()
	f.mu.Lock()
	f.infos = []core.RuntimeInfo{{Name: "other", Ready: true, Types: []string{"claude", "codex", "shell"}}}
	f.mu.Unlock()
	r.open()
}

// TestRuntimeRemovedWhileStarting removes a runtime from the configuration while the agent of a thread is being started there: nothing
// will ever tell what became of it, and the thread fails.
func TestRuntimeRemovedWhileStarting(t *testing.T) {
	t.Parallel()
	r := newRig(t, core.SystemClock{})
	r.agents.uncertain()
	r.open()
	id := r.starts()
	r.agents.removeRuntime(r)
	rec := r.untilStatus(id, core.ThreadFailed)
	if rec.Error == nil || !strings.Contains(rec.Error.Message, `"local"`) || !strings.Contains(rec.Error.Message, "not configured any more") {
		t.Errorf("the error is %+v", rec.Error)
	}
	if all := r.agents.all(); len(all) != 1 || !all[0].Gone() {
		t.Errorf("the agents are %+v", all)
	}
}
