package api

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// createWebhookRequest asks for an endpoint. Its bounds keep nonsense out; the service checks the rest.
type createWebhookRequest struct {
	URL               string               `json:"url" check:"required,min=1,max=2048" doc:"https, and no redirects." example:"https://hooks.example.com/wardroom"`
	Events            []string             `json:"events" check:"required,min=1,max=100" doc:"Types of events; * is every public one." example:"[\"execution.completed\",\"execution.failed\"]"`
	Secret            *string              `json:"secret" check:"min=1,max=1024" doc:"That deliveries are signed with. Default: one is made."`
	Headers           map[string]string    `json:"headers" doc:"Sent with each delivery, besides the service's own."`
	Enabled           *bool                `json:"enabled" doc:"Default: true."`
	Retries           *int                 `json:"retries" check:"min=0,max=4" doc:"Attempts after the first: 1 minute, 5 minutes, 30 minutes and 2 hours later. Default: 3."`
	Timeout           *int64               `json:"timeout" check:"min=1,max=300000" doc:"Milliseconds of one attempt. Default: 30000."`
	Filters           *wire.WebhookFilters `json:"filters" doc:"Default: every event of the types."`
	Ordered           bool                 `json:"ordered" doc:"Of one execution, an event waits until the one before has come to its end."`
	ClientCertificate string               `json:"clientCertificate" check:"max=65536" doc:"PEM to identify ourselves with, together with clientKey."`
	ClientKey         string               `json:"clientKey" check:"max=65536" doc:"PEM; never shown again."`
	CA                string               `json:"ca" check:"max=262144" doc:"PEM of the authorities that the endpoint's certificate must be from. Default: the system's."`
}

func (r *createWebhookRequest) spec() core.WebhookSpec {
	spec := core.WebhookSpec{
		URL: r.URL, Events: eventTypes(r.Events), Headers: r.Headers, Enabled: r.Enabled, Retries: r.Retries,
		TimeoutMs: r.Timeout, Ordered: r.Ordered, ClientCert: r.ClientCertificate, ClientKey: r.ClientKey, CA: r.CA,
	}
	if r.Secret != nil {
		spec.Secret = *r.Secret
	}
	if r.Filters != nil {
		spec.Filters = *r.Filters
	}
	return spec
}

// updateWebhookRequest changes an endpoint.
type updateWebhookRequest struct {
	URL               *string              `json:"url" check:"min=1,max=2048" doc:"https, and no redirects."`
	Events            []string             `json:"events" check:"min=1,max=100" doc:"Types of events; * is every public one."`
	Secret            *string              `json:"secret" check:"min=1,max=1024" doc:"To sign with from now on."`
	RotateSecret      *bool                `json:"rotateSecret" doc:"Make a new secret, unless one is given."`
	Overlap           *int64               `json:"overlap" check:"min=0,max=604800000" doc:"Milliseconds that the former secret signs as well; 0 ends every former one. Default: 0, if not configured."`
	Headers           map[string]string    `json:"headers" doc:"In place of those before. null: none."`
	Enabled           *bool                `json:"enabled" doc:"null: true."`
	Retries           *int                 `json:"retries" check:"min=0,max=4" doc:"Attempts after the first. null: 3."`
	Timeout           *int64               `json:"timeout" check:"min=1,max=300000" doc:"Milliseconds of one attempt. null: 30000."`
	Filters           *wire.WebhookFilters `json:"filters" doc:"In place of those before. null: none."`
	Ordered           *bool                `json:"ordered" doc:"null: false."`
	ClientCertificate *string              `json:"clientCertificate" check:"max=65536" doc:"PEM, together with clientKey. null: none."`
	ClientKey         *string              `json:"clientKey" check:"max=65536" doc:"PEM; never shown again."`
	CA                *string              `json:"ca" check:"max=262144" doc:"PEM. null: the system's."`
}

// Defaults that a null in a change stands for.
const (
	defaultWebhookRetries = 3
	defaultWebhookTimeout = 30_000 // ms
)

// patch returns the change; null tells which fields were null.
func (r *updateWebhookRequest) patch(null map[string]bool) (core.WebhookPatch, error) {
	if err := r.check(null); err != nil {
		return core.WebhookPatch{}, err
	}
	p := core.WebhookPatch{
		URL: r.URL, Secret: r.Secret, Enabled: r.Enabled, Retries: r.Retries, TimeoutMs: r.Timeout, Ordered: r.Ordered,
		ClientCert: r.ClientCertificate, ClientKey: r.ClientKey, CA: r.CA,
	}
	if r.Events != nil {
		types := eventTypes(r.Events)
		p.Events = &types
	}
	if r.RotateSecret != nil && *r.RotateSecret && p.Secret == nil {
		p.Secret = new(string) // empty: one is made
	}
	if r.Overlap != nil {
		d := time.Duration(*r.Overlap) * time.Millisecond
		p.Overlap = &d
	}
	if r.Headers != nil {
		p.Headers = &r.Headers
	}
	if r.Filters != nil {
		filters := *r.Filters
		p.Filters = &filters
	}
	for field := range null {
		reset(&p, field)
	}
	return p, nil
}

// reset sets a field of a change to its default.
func reset(p *core.WebhookPatch, field string) {
	switch field {
	case "headers":
		p.Headers = &map[string]string{}
	case "enabled":
		p.Enabled = new(true)
	case "retries":
		p.Retries = new(defaultWebhookRetries)
	case "timeout":
		p.TimeoutMs = new(int64(defaultWebhookTimeout))
	case "filters":
		p.Filters = new(core.WebhookFilters)
	case "ordered":
		p.Ordered = new(bool)
	case "clientCertificate":
		p.ClientCert, p.ClientKey = new(string), new(string)
	case "ca":
		p.CA = new(string)
	}
}

// check finds what the fields say of each other.
func (r *updateWebhookRequest) check(null map[string]bool) error {
	var problems []core.Problem
	for _, field := range []string{"url", "events"} {
		if null[field] {
			problems = append(problems, core.Problem{Path: field, Reason: "has no default; leave it out to keep it"})
		}
	}
	if null["secret"] {
		problems = append(problems, core.Problem{Path: "secret",
			Reason: "must not be null: leave it out to keep it; rotateSecret: true makes a new one"})
	}
	if r.Overlap != nil && r.Secret == nil && (r.RotateSecret == nil || !*r.RotateSecret) {
		problems = append(problems, core.Problem{Path: "overlap", Reason: "goes with secret or rotateSecret"})
	}
	if null["clientCertificate"] && r.ClientKey != nil {
		problems = append(problems, core.Problem{Path: "clientKey", Reason: "goes with clientCertificate"})
	}
	if len(problems) > 0 {
		return core.InvalidAll("invalid request body", problems)
	}
	return checkSecret(r.Secret)
}

// checkSecret refuses the masked form, which comes in when a record is sent back as it was read.
func checkSecret(secret *string) error {
	if secret != nil && *secret == maskedSecret {
		return core.Invalid("secret", "is the masked form, not a secret; leave it out")
	}
	return nil
}

func eventTypes(names []string) []core.EventType {
	types := make([]core.EventType, len(names))
	for i, name := range names {
		types[i] = core.EventType(name)
	}
	return types
}

// nullFields returns the fields of an object that are null. The decoder takes a null for an absent field; in a change
// the two differ.
func nullFields(object []byte) map[string]bool {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(object, &fields) // the decoder took it before
	null := map[string]bool{}
	for name, value := range fields {
		if bytes.Equal(value, []byte("null")) {
			null[name] = true
		}
	}
	return null
}
