package threads

import (
	"maps"

	"github.com/wardroom/wardroom/core"
)

// traceVariable is where tools of OpenTelemetry's command line look for the trace that they are part of:
// https://opentelemetry.io/docs/specs/otel/context/env-carriers/
const traceVariable = "TRACEPARENT"

// traced returns the environment of a thread's agent with the place of the thread in a sampled trace, so that the spans of
// a coding tool that tells any belong to it. One that was given stays, and so does an environment that has no room for it.
func traced(env map[string]string, r *core.ThreadRecord) map[string]string {
	if _, given := env[traceVariable]; given || !core.ParseTraceparent(r.Trace).Sampled {
		return env
	}
	own := maps.Clone(env)
	if own == nil {
		own = make(map[string]string, 1)
	}
	own[traceVariable] = r.Trace
	if len(core.CheckEnv("env", own)) > 0 {
		return env
	}
	return own
}
