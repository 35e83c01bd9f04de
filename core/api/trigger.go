package api

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	triggersPath = "/api/triggers"
	hooksPath    = "/api/hooks"
	maskedHook   = "trgsec_***" // stands for the secret of a trigger wherever it is not shown
)

func triggerPath(id string) string { return triggersPath + "/" + id }

// Triggers makes the operations of triggers.
func Triggers(service core.TriggerService) Part {
	return Part{"triggers", resource{wire.AuditExecutions, true, core.PrefixTrigger}, triggerPart{service}.routes()}
}

type triggerPart struct{ service core.TriggerService }

func (p triggerPart) routes() []Route {
	const one = triggersPath + "/{triggerId}"
	route := routesOf("triggers", core.ScopeExecutionsRead, core.ScopeExecutionsCreate)
	record := []Response{{Status: 200, Body: wire.Trigger{}, Doc: "The trigger."}}
	return []Route{
		route(http.MethodPost, "triggers.create", Route{
			Path: triggersPath, OperationID: "createTrigger", Secret: true, Summary: "Start an execution or a thread when a signed request comes in.",
			Description: "Its runs have the rights of the caller, who has to have them at each request. Only this answer shows the secret; a repeat with " +
				"the same Idempotency-Key masks it. There are 1000 triggers at most.",
			Body:      &Body{JSON: new(createTriggerRequest)},
			Responses: []Response{{Status: 201, Body: wire.Trigger{}, Location: true, Doc: "It is stored."}},
			Fails:     []int{403, 404, 409, 429}, Creates: true, Recover: recoverOne(p.service.FindTrigger, triggerCreated), Handle: decoded(p.createTrigger),
		}),
		route(http.MethodGet, "triggers.read", Route{
			Path: triggersPath, OperationID: "listTriggers", Summary: "List triggers, newest first.",
			Query: append(pageParams(), creatorParam), Responses: []Response{{Status: 200, Body: triggerList{}, Doc: "A page of triggers, without their histories."}},
			Handle: p.listTriggers,
		}),
		route(http.MethodGet, "triggers.read", Route{
			Path: one, OperationID: "getTrigger", Summary: "Get one trigger with its last requests.",
			Responses: record, Fails: []int{404}, Handle: p.getTrigger,
		}),
		route(http.MethodPatch, "triggers.update", Route{
			Path: one, OperationID: "updateTrigger", Summary: "Change a trigger.",
			Description: "Fields that are absent stay. From then on its runs have the rights of the caller. A target replaces the one before as a whole. " +
				"One with an environment that somebody else gave has to be given again.",
			Body: &Body{JSON: new(updateTriggerRequest)}, Responses: record, Edits: true, Fails: []int{403, 404, 409, 412}, Handle: decoded(p.updateTrigger),
		}),
		route(http.MethodPost, "triggers.rotate", Route{
			Path: one + "/rotate", OperationID: "rotateTrigger", Secret: true, Summary: "Give a trigger another secret.",
			Description: "Only this answer shows it. The former secret is taken for overlap, which is 0 unless it is given. From then on the trigger's runs have the rights of the caller, who knows the secret.",
			Body:        &Body{JSON: new(rotateTriggerRequest), Optional: true}, Responses: record, Edits: true, Fails: []int{403, 404, 412},
			Handle: edits(p.getTrigger, decoded(p.rotateTrigger)),
		}),
		route(http.MethodPost, "triggers.read", Route{
			Path: one + "/test", OperationID: "testTrigger", Summary: "Tell what a body would become, without starting anything.",
			Body:      &Body{JSON: new(testTriggerRequest)},
			Responses: []Response{{Status: 200, Body: wire.TriggerTrial{}, Doc: "What would be started."}},
			Fails:     []int{403, 404}, Handle: decoded(p.testTrigger),
		}),
		route(http.MethodDelete, "triggers.delete", Route{
			Path: one, OperationID: "deleteTrigger", Summary: "Remove a trigger. What it started goes on.",
			Responses: []Response{{Status: http.StatusNoContent, Doc: "It is gone."}},
			Edits:     true, Fails: []int{404, 412}, Handle: edits(p.getTrigger, removeOne("triggerId", p.service.DeleteTrigger)),
		}),
		{
			Method: http.MethodPost, Path: hooksPath + "/{triggerId}", OperationID: "receiveHook", Summary: "Have a trigger start what it starts, by a signed request.",
			Tag: "triggers", Action: "triggers.receive", Scope: core.ScopeAny, Public: always,
			Description: "No credential is needed but the signature, by the trigger's scheme: `X-Service-Signature: sha256=<hex>` of HMAC-SHA256 over " +
				"`<X-Service-Timestamp>.<body>`, with a timestamp that is at most five minutes off; GitHub's `X-Hub-Signature-256`; or GitLab's `X-Gitlab-Token`. " +
				"Without a good one the answer is 401, whatever the id. A request that was taken within the last 24 hours is answered with what it started.",
			Body: &Body{JSON: new(hookBody), Limit: limitHook},
			Responses: []Response{
				{Status: 202, Body: wire.TriggerReceipt{}, Doc: "It is started."},
				{Status: 200, Body: wire.TriggerReceipt{}, Doc: "Nothing is: it was taken before, or is of an event that the trigger does not want."},
			},
			Fails: []int{403, 404, 409, 429, 503}, Handle: p.receiveHook,
		},
	}
}

// hookBody is the JSON object that a sender posts to a trigger.
type hookBody map[string]any

type createTriggerRequest struct {
	wire.TriggerSpec
	Target targetRequest `json:"target" check:"required"`
}

type updateTriggerRequest struct {
	Name          *string           `json:"name" check:"min=1,max=100"`
	Enabled       *bool             `json:"enabled"`
	Events        []string          `json:"events" check:"max=100" doc:"In place of those before; [] is all."`
	Mapping       map[string]string `json:"mapping" doc:"In place of the one before; {} has the body be the input."`
	RatePerMinute *int              `json:"ratePerMinute" check:"min=1,max=6000"`
	Target        *targetRequest    `json:"target"`
}

type rotateTriggerRequest struct {
	Secret  string `json:"secret" check:"min=16,max=1024" doc:"Default: one is made."`
	Overlap int64  `json:"overlap" check:"min=0,max=604800000" doc:"Milliseconds that the former secret is taken as well. Default: 0, it ends at once."`
}

type testTriggerRequest struct {
	Body  json.RawMessage `json:"body" check:"required" doc:"As a sender would send it."`
	Event string          `json:"event" check:"max=100" doc:"The sender's name of what happened."`
}

type triggerList struct {
	Triggers []wire.Trigger `json:"triggers"`
	wire.PageInfo
}

// newTriggerBody renders a trigger; whole ones have their history.
func newTriggerBody(t *core.Trigger, whole bool) wire.Trigger {
	body := wire.Trigger{
		ID: t.ID, Name: t.Name, Path: hooksPath + "/" + t.ID, Scheme: t.Scheme, Secret: maskedHook, SecretRotatesAt: t.RotatesAt, Enabled: t.Enabled,
		BlockedReason: t.BlockedReason, Events: t.Events, Mapping: t.Mapping, RatePerMinute: t.RatePerMinute, Target: t.Target, RunsAs: t.Principal.ID,
		Counts: t.Counts, CreatedBy: t.CreatedBy, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
	if t.Secret != "" {
		body.Secret = t.Secret
	}
	if len(t.Runs) > 0 {
		body.LastRun = &t.Runs[0]
	}
	if whole {
		body.Runs = append([]core.TriggerRun{}, t.Runs...)
	}
	return body
}

// triggerAnswer renders what a service method returned.
func triggerAnswer(t *core.Trigger, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	a := ok(newTriggerBody(t, true))
	edited := newTriggerBody(t, false)
	edited.BlockedReason, edited.LastRun, edited.Counts = "", nil, wire.TriggerCounts{}
	a.edited = edited
	return a, nil
}

// triggerCreated answers a create. A repeat cannot show the secret again: the caller has the one it gave, or rotates.
func triggerCreated(t *core.Trigger) answer {
	a := created(triggerPath(t.ID), newTriggerBody(t, true))
	if t.Secret != "" {
		masked := *t
		masked.Secret = ""
		a.kept = newTriggerBody(&masked, true)
	}
	return a
}

func (p triggerPart) createTrigger(c *call, req createTriggerRequest) (answer, error) {
	spec := core.TriggerSpec{
		Name: req.Name, Scheme: req.Scheme, Secret: req.Secret, Events: req.Events, Mapping: req.Mapping, RatePerMinute: req.RatePerMinute, Disabled: req.Disabled,
	}
	var err error
	if spec.Target, spec.Env, err = req.Target.target(c); err != nil {
		return answer{}, err
	}
	t, err := p.service.CreateTrigger(c.detached(), spec)
	if err != nil {
		return answer{}, err
	}
	return triggerCreated(t), nil
}

func (p triggerPart) listTriggers(c *call) (answer, error) {
	filter := core.TriggerFilter{CreatedBy: c.query.text("createdBy")}
	triggers := listOf(c, func(t *core.Trigger) string { return t.ID }, func(page core.Page) ([]*core.Trigger, core.PageInfo, error) {
		filter.Page = page
		return p.service.FindTriggers(c.ctx, filter)
	})
	return listed(c, triggers.page, func(t *core.Trigger) wire.Trigger { return newTriggerBody(t, false) },
		func(rows []wire.Trigger, info wire.PageInfo) any { return triggerList{rows, info} })
}

func (p triggerPart) getTrigger(c *call) (answer, error) {
	return triggerAnswer(p.service.FindTrigger(c.ctx, c.param("triggerId")))
}

func (p triggerPart) updateTrigger(c *call, req updateTriggerRequest) (answer, error) {
	patch := core.TriggerPatch{Name: req.Name, Enabled: req.Enabled, RatePerMinute: req.RatePerMinute}
	if req.Events != nil {
		patch.Events = &req.Events
	}
	if req.Mapping != nil {
		patch.Mapping = &req.Mapping
	}
	if req.Target != nil {
		target, env, err := req.Target.target(c)
		if err != nil {
			return answer{}, err
		}
		patch.Target, patch.Env = &target, env
	}
	done, err := c.unchanged(func() (answer, error) { return p.getTrigger(c) })
	if err != nil {
		return answer{}, err
	}
	defer done()
	return triggerAnswer(p.service.UpdateTrigger(c.detached(), c.param("triggerId"), patch))
}

func (p triggerPart) rotateTrigger(c *call, req rotateTriggerRequest) (answer, error) {
	overlap := time.Duration(req.Overlap) * time.Millisecond
	return triggerAnswer(p.service.RotateTrigger(c.detached(), c.param("triggerId"), req.Secret, overlap))
}

func (p triggerPart) testTrigger(c *call, req testTriggerRequest) (answer, error) {
	return shown(p.service.TryTrigger(c.ctx, c.param("triggerId"), req.Event, req.Body))
}

// receiveHook hands a request to its trigger. The body stays as it came, since that is what is signed.
func (p triggerPart) receiveHook(c *call) (answer, error) {
	receipt, err := p.service.Receive(c.detached(), c.param("triggerId"), core.TriggerRequest{
		Body: c.body,
		Header: func(name string) string {
			if values := c.r.Header[name]; len(values) == 1 {
				return values[0]
			}
			return ""
		},
	})
	if err != nil {
		return answer{}, err
	}
	if receipt.Outcome == wire.TriggerStarted {
		return answer{status: http.StatusAccepted, body: receipt}, nil
	}
	return ok(receipt), nil
}
