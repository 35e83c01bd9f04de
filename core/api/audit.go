package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// auditRoutes are about the audit trail. They are there when there is one.
func (s *Server) auditRoutes() []Route {
	if s.opts.Audit == nil {
		return nil
	}
	route := func(r Route) Route {
		r.Method, r.Tag, r.Resource, r.Action, r.Scope = http.MethodGet, "audit", "audit", "audit.read", core.ScopeAuditRead
		return r
	}
	times := []Param{
		{Name: "since", Type: ParamTime, Doc: "Only records from then on."},
		{Name: "until", Type: ParamTime, Doc: "Only records before then."},
	}
	return []Route{
		route(Route{
			Path: "/api/audit", OperationID: "listAudit", Summary: "List audit records, newest first.",
			Description: "A page may be short although hasMore is true, where few records match: go on with nextCursor.",
			Query: append(times[:2:2],
				Param{Name: "action", Type: ParamString, Doc: "Such as executions.create; keys.* is every action that begins with keys."},
				Param{Name: "actor", Type: ParamString, Selects: []string{"actor.id"}, Doc: "Id of who did it."},
				Param{Name: "category", Type: ParamString, Enum: wire.AuditCategories},
				Param{Name: "resource", Type: ParamString, Selects: []string{"resource.id"}, Doc: "A type such as patterns, or one thing of it such as patterns/classify."},
				Param{Name: "outcome", Type: ParamString, Enum: wire.AuditOutcomes},
				Param{Name: "before", Type: ParamInteger, Default: "0", Doc: "Only records with a smaller number; 0: all."},
				Param{Name: "limit", Type: ParamInteger, Default: "20", Min: 1, Max: core.MaxPageLimit, Doc: "Records on a page."},
				Param{Name: "cursor", Type: ParamString, Doc: "nextCursor of the page before."}),
			Responses: []Response{{Status: 200, Body: wire.AuditPage{}, Doc: "A page of records."}},
			Handle:    s.listAudit,
		}),
		route(Route{
			Path: "/api/audit/export", OperationID: "exportAudit", Summary: "Export audit records, oldest first.",
			Description: "json is a record a line, to be verified as csv is; cef is the Common Event Format. " +
				"Everything between the first and the last record of the time is there, so that the chain has no gap. An export that breaks off ends without its last line.",
			Query: append(times[:2:2],
				Param{Name: "format", Type: ParamString, Default: wire.AuditFormats[0], Enum: wire.AuditFormats, Doc: "Form of the records."}),
			Responses: []Response{{Status: 200, Body: "", ContentType: "application/x-ndjson", Doc: "The records; text/csv or text/plain in the other formats."}},
			Stream:    s.exportAudit,
		}),
		route(Route{
			Path: "/api/audit/status", OperationID: "getAuditStatus", Summary: "Tell how the audit trail and its sinks are.",
			Unrecorded: true,
			Responses:  []Response{{Status: 200, Body: wire.AuditStatus{}, Doc: "Where the trail ends, what signs it, and how far each sink has come."}},
			Handle: func(c *call) (answer, error) {
				return shown(s.opts.Audit.AuditStatus(c.ctx))
			},
		}),
	}
}

func (s *Server) listAudit(c *call) (answer, error) {
	page, err := s.opts.Audit.FindAudit(c.ctx, core.AuditFilter{
		Since: c.query.time("since"), Until: c.query.time("until"), Action: c.query.text("action"), Actor: c.query.text("actor"),
		Category: c.query.text("category"), Resource: c.query.text("resource"), Outcome: c.query.text("outcome"),
		Before: uint64(c.query.integer("before")), Limit: int(c.query.integer("limit")), Cursor: c.query.text("cursor"),
	})
	if err != nil {
		return answer{}, err
	}
	list := wire.AuditPage{Records: make([]wire.AuditRecord, len(page.Records)), HasMore: page.HasMore, NextCursor: page.NextCursor}
	for i, r := range page.Records {
		list.Records[i] = *r
	}
	return ok(list), nil
}

// auditTypes are the media types of exports.
var auditTypes = map[string]string{"json": "application/x-ndjson", "csv": "text/csv; charset=utf-8", "cef": "text/plain; charset=utf-8"}

// exportAudit streams. It ends when the client takes nothing for as long as that is allowed to any.
func (s *Server) exportAudit(c *call) error {
	format := c.query.text("format")
	c.w.Header()["Content-Type"] = []string{auditTypes[format]}
	if isHead(c.w.Header()) {
		c.w.WriteHeader(http.StatusOK)
		return nil
	}
	out := NewStallingWriter(c.w, c.config.StallTimeout)
	defer out.Close()
	return s.opts.Audit.ExportAudit(c.ctx, c.query.time("since"), c.query.time("until"), format, out)
}
