package threads_test

import (
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// A coding tool finds the trace of who asked for its thread, after a restart too, unless the trace is not kept or its
// environment names another one.
func TestTraceOfCodingTools(t *testing.T) {
	const kept, dropped = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	full := map[string]string{}
	for i := range core.MaxEnv {
		full[fmt.Sprint("V", i)] = "x"
	}
	for _, tt := range []struct{ name, asked, given, want string }{
		{"Sampled", kept, "", kept}, {"NotSampled", dropped, "", ""}, {"None", "", "", ""}, {"Given", kept, "mine", "mine"}, {"Full", kept, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, core.SystemClock{})
			gate := make(chan struct{})
			r.spaces.provision = blockUntil(gate)
			r.open()
			s := spec()
			if tt.name == "Full" {
				s.Preparation.Env = full
			}
			if tt.given != "" {
				s.Preparation.Env = map[string]string{"TRACEPARENT": tt.given}
			}
			th, err := r.SpawnThread(core.WithTrace(r.ctx, core.ParseTraceparent(tt.asked)), s)
			if err != nil {
				t.Fatal(err)
			}
			r.untilStatus(th.ID, core.ThreadPreparing)
			r.Close()
			close(gate)
			r.open()
			r.until(th.ID, "the agent", func(rec *core.ThreadRecord) bool { return rec.StartedAt != nil })
			if got := r.agents.specs[0].Env["TRACEPARENT"]; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The agent of a role finds the trace of its execution.
func TestTraceOfRoles(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.open()
	spec := roleSpec(0)
	spec.Trace = core.ParseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if _, err := r.SpawnRole(r.ctx, spec, roleAgent()); err != nil {
		t.Fatal(err)
	}
	if got := r.agents.specs[0].Env["TRACEPARENT"]; got != spec.Trace.String() {
		t.Errorf("got %q", got)
	}
}
