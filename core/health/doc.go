// Package health is the registry of named checks and the verdict that follows from them: healthy, degraded
// or unhealthy, live, and ready.
//
// It owns when checks run, how long they may take and since when each has its state. It does not know what
// it checks, nor HTTP: the appliance registers the checks of the components, core/api renders the verdict,
// and the appliance moves the phase (starting, ready, stopping) that readiness depends on.
package health
