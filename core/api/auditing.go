package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// What requests do is recorded here, and nowhere else in this package: by what the table says of their route. A route
// that changes anything puts its intent into the context, and the transaction that it ends in records it; what no
// transaction tells of, such as refusals, is recorded when it is known.

// ContentCategories are the categories of audit records of routes by which content is read.
func (s *Server) ContentCategories() []string {
	var list []string
	for _, r := range s.resources {
		if r.content && !slices.Contains(list, r.category) {
			list = append(list, r.category)
		}
	}
	slices.Sort(list)
	return list
}

// auditIDs are the prefixes of the ids that creating operations make, where they are not those of the resource.
var auditIDs = map[string]string{
	"execute": core.PrefixExecution, "executeStream": core.PrefixExecution, "createKey": core.PrefixAPIKey, "createAgentToken": core.PrefixToken,
}

// outside are the actions whose effect is not in the store: in the mode blocking, that they are about to be done is
// recorded before.
var outside = []string{
	"plugins.enable", "plugins.disable", "plugins.restart", "plugins.remove", "agents.disconnect", "agents.send", "agents.answer", "agents.restart",
	"agents.stop", "agents.spawn",
}

// actionSignIn is the action of audit records about credentials.
const actionSignIn = "session.authenticate"

// changes reports whether a route changes anything.
func (r *Route) changes() bool {
	return r.Method != http.MethodGet && r.Method != "" && !strings.HasSuffix(r.Action, ".read")
}

// entry begins the record of a request.
func (c *call) entry(outcome string) core.AuditEntry {
	p := c.principal
	if p.Kind == "" { // it was refused before anybody looked at who sends it
		p = core.Anonymous
	}
	e := core.AuditEntry{
		Category: c.s.resources[c.route.Resource].category, Action: c.route.Action, Outcome: outcome,
		Actor: wire.AuditActor{
			Type: string(p.Kind), ID: clipText(p.ID), IP: c.origin, UserAgent: clipText(c.r.UserAgent()),
		},
		Resource: wire.AuditResource{Type: c.route.Resource},
		Request:  wire.AuditRequest{Method: c.route.Method, Path: clipText(c.r.URL.EscapedPath()), RequestID: c.id},
	}
	if len(c.route.paramNames) > 0 {
		e.Resource.ID, _ = c.unescaped(c.route.paramNames[0])
		e.Resource.ID = clipText(e.Resource.ID)
	}
	if c.query.index("version") >= 0 {
		e.Resource.Version = clipText(c.query.text("version"))
	}
	return e
}

// clipText bounds what clients put into records, in bytes.
func clipText(s string) string {
	const most = 512
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// signedIn records the credential of a request, now and then.
func (c *call) signedIn() error {
	if c.s.opts.Audit == nil || c.principal.Kind == core.PrincipalAnonymous || !c.s.opts.Audit.Wants(wire.AuditAuthentication, false) {
		return nil
	}
	e := c.entry(wire.AuditSuccess)
	e.Action, e.Resource = actionSignIn, wire.AuditResource{Type: "session"}
	return c.unlessFull(c.s.opts.Audit.SignedIn(c.r.Context(), e, c.principal.KeyID))
}

// unlessFull returns why a record of a read was refused; nil where the trail is full and the answer shows that.
func (c *call) unlessFull(err error) error {
	if err != nil && c.route.Unrecorded && core.AsError(err).Details["reason"] == core.ReasonAuditFull {
		return nil
	}
	return err
}

// recordSignIn records that a person proved to be the principal of the call, before a session begins.
func (c *call) recordSignIn(method string) error {
	audit := c.s.opts.Audit
	if audit == nil || !audit.Wants(wire.AuditAuthentication, false) {
		return nil
	}
	e := c.entry(wire.AuditSuccess)
	e.Category, e.Action, e.Resource = wire.AuditAuthentication, actionSignIn, wire.AuditResource{Type: "session"}
	e.Details = map[string]any{"method": method}
	return audit.Record(c.ctx, e)
}

// intend puts what the request is about to do into its context.
func (c *call) intend() error {
	audit := c.s.opts.Audit
	if audit == nil || !c.route.changes() {
		return nil
	}
	category := c.s.resources[c.route.Resource].category
	if !audit.Wants(category, false) {
		return nil
	}
	intent := &core.AuditIntent{AuditEntry: c.entry(wire.AuditSuccess)}
	intent.Details = c.details()
	if c.route.Creates || c.route.Body != nil {
		c.creates(intent)
	}
	if audit.Blocking() && slices.Contains(outside, c.route.Action) {
		attempt := intent.AuditEntry
		attempt.Outcome = wire.AuditAttempt
		if err := audit.Record(c.ctx, attempt); err != nil {
			return err
		}
	}
	c.intent = intent
	c.ctx = core.WithAuditIntent(c.ctx, intent)
	return nil
}

// creates has the record name what is made, and where.
func (c *call) creates(intent *core.AuditIntent) {
	prefix := auditIDs[c.route.OperationID]
	switch {
	case c.route.Action == "executions.create":
		if strings.HasPrefix(c.route.Path, patternsPath) {
			intent.Details["pattern"] = intent.Resource.ID
		} else if intent.Resource.ID != "" {
			intent.Details["executionId"] = intent.Resource.ID
		}
		prefix = core.PrefixExecution
		if strings.HasPrefix(c.route.Path, "/api/batch/") {
			prefix, intent.Resource.Type = core.PrefixBatch, "batches"
		}
		intent.Resource.ID, intent.Resource.Version = "", ""
	case prefix == "" && len(c.route.paramNames) == 0:
		prefix = c.s.resources[c.route.Resource].ids
	}
	intent.IDPrefix = prefix
}

// details are what records say of a request beyond the rest.
func (c *call) details() map[string]any {
	details := map[string]any{}
	if c.principal.KeyID != "" {
		details["keyId"] = c.principal.KeyID
	}
	if c.hasBody {
		details["inputSize"] = len(c.body)
		if text := c.s.opts.Audit.Text(c.body); text != "" && c.route.Resource != "data" { // that names a subject
			details["body"] = text
		}
	}
	if len(c.route.paramNames) > 1 {
		details[c.route.paramNames[1]] = clipText(c.params[1])
	}
	return details
}

// done records a request that was served, unless a transaction did. What it changed stays changed when it cannot be recorded, and
// the error has that in its details.
func (c *call) done() error {
	audit := c.s.opts.Audit
	switch {
	case audit == nil:
		return nil
	case c.intent != nil:
		if c.intent.Recorded.Load() {
			return nil
		}
		return withDetail(audit.Record(c.ctx, c.intent.AuditEntry), "done", true)
	case c.route.changes() || c.route.Probe || c.route.Action == "":
		return nil
	case c.route.Resource != "audit" && !audit.Wants(c.s.resources[c.route.Resource].category, true) && !c.readsWork():
		return nil
	}
	if c.route.Public != nil && c.route.Public(*c.config) {
		return nil
	}
	e := c.entry(wire.AuditSuccess)
	e.Details = c.details()
	return c.unlessFull(audit.Record(c.ctx, e))
}

// readsWork reports whether the request reads what was put into executions or came of them, and that is recorded at every
// level.
func (c *call) readsWork() bool {
	return c.config.RecordReads && c.s.resources[c.route.Resource].content
}

// auditRefusals are the outcomes of errors that are refusals.
var auditRefusals = map[core.Code]string{
	core.CodeUnauthorized: wire.AuditAuthentication, core.CodeForbidden: wire.AuditAuthorization, core.CodeRateLimited: wire.AuditAuthorization,
}

// recordFailure records a request that failed. Its error, if any, is to be answered in place of err.
func (c *call) recordFailure(err error) error {
	audit := c.s.opts.Audit
	if audit == nil || c.route.Action == "" && core.ErrorCode(err) != core.CodeForbidden {
		return nil
	}
	code := core.ErrorCode(err)
	refusal, refused := auditRefusals[code]
	if !refused && c.intent == nil && !c.route.changes() {
		return nil
	}
	e := c.entry(wire.AuditFailure)
	e.Details = map[string]any{"code": string(code)}
	if c.principal.KeyID != "" {
		e.Details["keyId"] = c.principal.KeyID
	}
	if c.intent != nil {
		e.Resource, e.Details["inputSize"] = c.intent.Resource, len(c.body)
	}
	if refused {
		e.Category, e.Outcome = refusal, wire.AuditDenied
		if code == core.CodeUnauthorized {
			e.Details["action"], e.Action = c.route.Action, actionSignIn
			if reason, ok := core.AsError(err).Details["reason"].(string); ok {
				e.Details["reason"] = clipText(reason)
			}
		}
	}
	if !audit.Wants(e.Category, false) {
		return nil
	}
	if recErr := audit.Record(c.r.Context(), e); recErr != nil && core.AsError(err).Unavailable {
		return nil // it is refused for the same reason
	} else if recErr != nil {
		return recErr
	}
	return nil
}
