package api_test

import (
	"context"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// fakeLocations knows one thing of each kind, by ids that say which.
type fakeLocations struct{}

func (fakeLocations) Locate(_ context.Context, id string) (*core.Location, error) {
	for _, l := range []core.Location{
		{ID: "task", Kind: core.LocatedTask, ExecutionID: execID}, {ID: "input", Kind: core.LocatedInput, ThreadID: "thread_1"},
		{ID: "delivery", Kind: core.LocatedDelivery, WebhookID: "wh_1"}, {ID: "event", Kind: core.LocatedEvent, Subject: execID},
		{ID: "pattern", Kind: core.LocatedEvent, Pattern: "vote"}, {ID: "alert", Kind: core.LocatedEvent, Subject: "plugin:local"},
	} {
		if l.ID == id {
			return &l, nil
		}
	}
	return nil, core.NotFound("task", id)
}

// TestLocate: who may read what a thing lies in receives its location, and for all others it is not found.
func TestLocate(t *testing.T) {
	need := ""
	var refused api.Access
	r := newRig(t, func(o *api.Options) {
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if a.Action == need {
				refused = a
				return core.Forbidden(a.Action, a.Scope, "no")
			}
			return nil
		}
	})
	for _, c := range []struct{ id, action, of string }{
		{"task", "executions.read", execID}, {"input", "threads.read", "thread_1"}, {"delivery", "webhooks.read", "wh_1"},
		{"event", "executions.read", execID}, {"pattern", "patterns.read", "vote"}, {"alert", "health.read", "plugin:local"},
	} {
		need = ""
		p := r.do("GET", "/api/ids/"+c.id, "")
		p.wants(t, 200, "")
		if p.at("id") != c.id {
			t.Error(p.text)
		}
		need = c.action
		r.do("GET", "/api/ids/"+c.id, "").wants(t, 404, core.CodeNotFound)
		if refused.ID != c.of {
			t.Errorf("%s: asked for %q, want %q", c.id, refused.ID, c.of)
		}
	}
	need = ""
	r.do("GET", "/api/ids/nothing", "").wants(t, 404, core.CodeNotFound)
}
