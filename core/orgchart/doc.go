// Package orgchart holds the rules of org charts: which step of a workflow comes next, which role gets a message,
// and what an agent's answer says about the work it was shown.
//
// It does no input or output, reads no clock, starts no goroutine and evaluates no expression: those are
// core.ChartPlan's. It knows neither agents nor tasks: core/engine hands steps to agents, journals what Flow tells
// it, and asks it again after a restart. Nothing in it is safe for concurrent use; the run of an execution owns
// its Flow.
package orgchart
