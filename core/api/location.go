package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Locations makes the operation that finds things by their ids alone.
func Locations(service core.LocationService) Part {
	return Part{"ids", resource{wire.AuditExecutions, false, ""}, locationPart{service}.routes()}
}

type locationPart struct{ service core.LocationService }

func (p locationPart) routes() []Route {
	return []Route{{
		Method: http.MethodGet, Path: "/api/ids/{id}", OperationID: "locate", Tag: "overview",
		Action: "ids.read", Scope: core.ScopeAny,
		Summary: "Tell what something lies in whose id does not say it: a task, a message, an input of a thread, a decision, a delivery, a public event.",
		Description: "Executions, threads, agents and other things that have an address of their own are read there. " +
			"What the caller may not read is not found. Of the executions and threads of the time of the id the latest 20,000 and 5,000 are looked through, " +
			"and 50,000 events or 64 MiB of them.",
		Responses: []Response{{Status: 200, Body: wire.Location{}, Doc: "Where it is found."}},
		Fails:     []int{404}, Handle: p.locate,
	}}
}

func (p locationPart) locate(c *call) (answer, error) {
	id := c.param("id")
	l, err := p.service.Locate(c.ctx, id)
	if err != nil {
		return answer{}, err
	}
	if !c.mayList(needOf(l)) {
		return answer{}, core.NotFound(l.Kind, id)
	}
	return ok(l), nil
}

// needOf returns the access that reading something needs.
func needOf(l *core.Location) Access {
	need, id := readHealth, l.Subject
	switch {
	case l.WebhookID != "":
		need, id = Access{Action: "webhooks.read", Resource: "webhooks", Scope: core.ScopeAdmin}, l.WebhookID
	case l.ExecutionID != "":
		need, id = readExecutions, l.ExecutionID
	case l.ThreadID != "":
		need, id = readThreads, l.ThreadID
	case l.Pattern != "":
		need, id = readPatterns, l.Pattern
	case core.ValidID(core.PrefixExecution, l.Subject):
		need = readExecutions
	case core.ValidID(core.PrefixThread, l.Subject):
		need = readThreads
	case core.ValidID(core.PrefixAgent, l.Subject), core.ValidID(core.PrefixManaged, l.Subject):
		need = readAgents
	}
	need.ID = id
	return need
}
