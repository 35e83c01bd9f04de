package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (s *Server) patternRoutes() []Route {
	base := Route{Tag: "patterns", Resource: "patterns"}
	reads := func(r Route) Route {
		r.Tag, r.Resource, r.Action, r.Scope = base.Tag, base.Resource, "patterns.read", "patterns:read"
		r.Method = http.MethodGet
		return r
	}
	body := func() *Body { return &Body{JSON: new(wire.PatternInput), YAML: true, Limit: "definition"} }
	return []Route{
		reads(Route{
			Path: "/api/patterns", OperationID: "listPatterns",
			Summary: "List the latest version of each pattern, newest first.",
			Query: append(pageParams(), Param{Name: "search", Type: ParamString, Selects: []string{"name", "description"},
				Doc: "Text that the name or the description holds, letter case ignored."},
				Param{Name: "createdBy", Type: ParamString, Doc: "Only those whose latest version this caller made."},
				Param{Name: "use", Type: ParamBoolean, Default: "false", Doc: "Count with each what became of its executions of the last 24 hours, all versions together."}),
			Responses: []Response{{Status: 200, Body: patternList{}, Doc: "A page of patterns."}},
			Handle:    s.listPatterns,
		}),
		reads(Route{
			Path: "/api/patterns/{name}", OperationID: "getPattern",
			Summary:   "Get one version of a pattern.",
			Query:     []Param{versionParam},
			Responses: []Response{{Status: 200, Body: wire.Pattern{}, Doc: "The pattern."}},
			Fails:     []int{404}, Handle: s.getPattern,
		}),
		reads(Route{
			Path: "/api/patterns/{name}/versions", OperationID: "listPatternVersions",
			Summary:   "List the versions of a pattern, latest first.",
			Query:     largePageParams()[:2],
			Responses: []Response{{Status: 200, Body: patternVersions{}, Doc: "A page of versions."}},
			Fails:     []int{404}, Handle: s.listPatternVersions,
		}),
		reads(Route{
			Path: "/api/schemas/pattern", OperationID: "getPatternSchema",
			Summary:   "Get the JSON Schema of definitions, for editors.",
			Responses: []Response{{Status: 200, Body: map[string]any{}, Doc: "The schema, of the draft 2020-12."}},
			Handle:    s.getPatternSchema,
		}),
		{
			Method: http.MethodPost, Path: "/api/patterns", OperationID: "createPattern",
			Summary: "Store a new pattern, or a new version of one.", Tag: base.Tag, Resource: base.Resource,
			Action: "patterns.create", Scope: "patterns:write", Body: body(),
			Responses: []Response{{Status: 201, Body: patternCreated{}, Location: true, Doc: "Stored."}},
			Fails:     []int{409}, Creates: true, Recover: s.recoverPattern, Handle: s.createPattern,
		},
		{
			Method: http.MethodPost, Path: "/api/patterns/validate", OperationID: "validatePattern",
			Summary: "Check a definition without storing it.", Tag: base.Tag, Resource: base.Resource,
			Action: "patterns.read", Scope: "patterns:read",
			Body:      &Body{JSON: new(wire.ValidateRequest), YAML: true, Limit: "definition"},
			Responses: []Response{{Status: 200, Body: wire.PatternCheck{}, Doc: "Every problem of the definition."}},
			Fails:     []int{413}, Handle: s.validatePattern,
		},
		{
			Method: http.MethodPut, Path: "/api/patterns/{name}", OperationID: "updatePattern",
			Summary: "Replace a version of a pattern, or add one.", Tag: base.Tag, Resource: base.Resource,
			Action: "patterns.update", Scope: "patterns:write", Body: body(),
			Responses: []Response{
				{Status: 200, Body: patternReplaced{}, Doc: "The version was there and is replaced."},
				{Status: 201, Body: patternAdded{}, Location: true, Doc: "The version is new."},
			},
			Edits: true, Fails: []int{404, 409, 412}, Handle: s.updatePattern,
		},
		{
			Method: http.MethodDelete, Path: "/api/patterns/{name}", OperationID: "deletePattern",
			Summary: "Delete one version of a pattern, or all.", Tag: base.Tag, Resource: base.Resource,
			Action: "patterns.delete", Scope: "patterns:delete",
			Query:     []Param{{Name: "version", Type: ParamString, Doc: "Exact version; a range matches none. Default: all versions."}},
			Responses: []Response{{Status: 200, Body: wire.PatternDeletion{}, Doc: "Deleted."}},
			Edits:     true, Fails: []int{404, 409, 412}, Handle: s.deletePattern,
		},
	}
}

var versionParam = Param{Name: "version", Type: ParamString, Doc: "Exact version or a range such as 1.x. Default: the latest."}

func (s *Server) listPatterns(c *call) (answer, error) {
	page, err := c.page()
	if err != nil {
		return answer{}, err
	}
	found, info, err := s.opts.Patterns.FindPatterns(c.ctx, core.PatternFilter{
		Search: c.query.text("search"), CreatedBy: c.query.text("createdBy"), Page: page,
	})
	if err != nil {
		return answer{}, err
	}
	list := newPatternList(found, pageOf(page, info))
	if c.query.boolean("use") && c.mayList(readExecutions) {
		since := s.opts.Clock.Now().Add(-useSpan)
		for i := range list.Patterns {
			if list.Patterns[i].Use, err = s.patternUse(c, list.Patterns[i].Name, since); err != nil {
				return answer{}, err
			}
		}
	}
	return ok(list), nil
}

// useSpan is the time over which the use of a pattern is counted.
const useSpan = 24 * time.Hour

// patternUse counts executions of a pattern. What is counted are keys of an index; active ones are in memory.
func (s *Server) patternUse(c *call, name string, since time.Time) (*wire.PatternUse, error) {
	use := &wire.PatternUse{Since: since}
	for _, status := range core.ExecutionStatuses {
		n, atLeast, err := s.executions(c, core.ExecutionFilter{Pattern: name, Since: since, Statuses: []core.ExecutionStatus{status}}).count()
		if err != nil {
			return nil, err
		}
		use.AtLeast = use.AtLeast || atLeast
		switch status {
		case core.ExecutionCompleted:
			use.Completed = n
		case core.ExecutionFailed:
			use.Failed = n
		case core.ExecutionCancelled:
			use.Cancelled = n
		default:
			use.Active += n
		}
	}
	return use, nil
}

func (s *Server) getPattern(c *call) (answer, error) {
	return s.patternNow(c, c.param("name"), c.query.text("version"))
}

func (s *Server) listPatternVersions(c *call) (answer, error) {
	found, err := s.opts.Patterns.FindPatternVersions(c.ctx, c.param("name"))
	if err != nil {
		return answer{}, err
	}
	total, limit, offset := len(found), int(c.query.integer("limit")), int(c.query.integer("offset"))
	found = found[min(offset, total):]
	found = found[:min(limit, len(found))]
	list := patternVersions{
		Versions: make([]wire.PatternVersion, len(found)),
		Total:    total, Limit: limit, Offset: offset, HasMore: offset+len(found) < total,
	}
	for i, p := range found {
		list.Versions[i] = wire.PatternVersion{Version: p.Version, CreatedAt: p.CreatedAt}
	}
	return ok(list), nil
}

// patternInput reads the body of create and update.
func (c *call) patternInput() (core.PatternInput, error) {
	if c.yaml() {
		source, err := c.source()
		return core.PatternInput{Source: source}, err
	}
	var req wire.PatternInput
	if err := c.decode(&req); err != nil {
		return core.PatternInput{}, err
	}
	if int64(len(req.Definition)) > c.config.MaxDefinition {
		return core.PatternInput{}, tooLarge("definition", c.config.MaxDefinition)
	}
	return core.PatternInput{
		Name: req.Name, Version: req.Version, Description: req.Description, Source: req.Definition,
	}, nil
}

func (s *Server) createPattern(c *call) (answer, error) {
	in, err := c.patternInput()
	if err != nil {
		return answer{}, err
	}
	p, err := s.opts.Patterns.CreatePattern(c.detached(), in)
	if err != nil {
		return answer{}, err
	}
	return patternCreatedAnswer(p), nil
}

func patternCreatedAnswer(p *core.Pattern) answer {
	return created(patternPath(p.Name), patternCreated{Name: p.Name, Version: p.Version, Created: true})
}

func patternPath(name string) string { return "/api/patterns/" + url.PathEscape(name) }

// recoverPattern renders the answer to a creation whose process died: the key holds "name@version".
func (s *Server) recoverPattern(c *call, resourceID string) (answer, error) {
	at := strings.LastIndexByte(resourceID, '@')
	if at < 0 {
		at = len(resourceID)
	}
	p, err := s.opts.Patterns.FindPattern(c.ctx, resourceID[:at], strings.TrimPrefix(resourceID[at:], "@"))
	if err != nil {
		return answer{}, err
	}
	return patternCreatedAnswer(p), nil
}

func (s *Server) updatePattern(c *call) (answer, error) {
	in, err := c.patternInput()
	if err != nil {
		return answer{}, err
	}
	name := c.param("name")
	if in.Name != "" && in.Name != name {
		return answer{}, core.Invalid("name", "must be %q, the name in the path, or absent", name)
	}
	done, err := c.unchanged(func() (answer, error) { return s.patternNow(c, name, s.versionOf(c, name, in)) })
	if err != nil {
		return answer{}, err
	}
	defer done()
	u, err := s.opts.Patterns.UpdatePattern(c.detached(), name, in)
	if err != nil {
		return answer{}, err
	}
	p := u.Pattern
	if u.Created {
		return created(patternPath(p.Name), patternAdded{
			Name: p.Name, Version: p.Version, Created: true, PreviousVersion: u.PreviousVersion,
		}), nil
	}
	return ok(patternReplaced{Name: p.Name, Version: p.Version, Updated: true}), nil
}

// patternNow answers as a GET of a version does; version may be empty.
func (s *Server) patternNow(c *call, name, version string) (answer, error) {
	p, err := s.opts.Patterns.FindPattern(c.ctx, name, version)
	if err != nil {
		return answer{}, err
	}
	return ok(newPattern(p)), nil
}

// versionOf is the version that a pattern to be stored under a name has; that of the request alone, or empty, of one that is refused
// for what is wrong in it.
func (s *Server) versionOf(c *call, name string, in core.PatternInput) string {
	in.Name = name // the text may leave it out
	_, version, _ := s.opts.Patterns.IdentifyPattern(c.ctx, in)
	return version
}

func (s *Server) deletePattern(c *call) (answer, error) {
	done, err := c.unchanged(func() (answer, error) { return s.patternNow(c, c.param("name"), c.query.text("version")) })
	if err != nil {
		return answer{}, err
	}
	defer done()
	n, err := s.opts.Patterns.DeletePattern(c.detached(), c.param("name"), c.query.text("version"))
	if err != nil {
		return answer{}, err
	}
	return ok(wire.PatternDeletion{Deleted: true, VersionsRemoved: n}), nil
}

func (s *Server) validatePattern(c *call) (answer, error) {
	source, err := c.draft()
	if err != nil {
		return answer{}, err
	}
	check := wire.PatternCheck{}
	p, problems := s.opts.Patterns.CheckPattern(context.WithoutCancel(c.ctx), source)
	if check.Valid, check.Problems = len(problems) == 0, problems; p != nil {
		check.Definition = p.Definition
	}
	return ok(check), nil
}

// draft reads a body with a definition that is not stored.
func (c *call) draft() (source string, err error) {
	if c.yaml() {
		return c.source()
	}
	var req wire.ValidateRequest
	if err := c.decode(&req); err != nil {
		return "", err
	}
	if int64(len(req.Definition)) > c.config.MaxDefinition {
		return "", tooLarge("definition", c.config.MaxDefinition)
	}
	return req.Definition, nil
}

func (s *Server) getPatternSchema(*call) (answer, error) {
	return answer{status: http.StatusOK, raw: s.opts.PatternSchema}, nil
}

// rawOr returns raw, or other when raw is empty.
func rawOr(raw json.RawMessage, other string) []byte {
	if len(raw) == 0 {
		return []byte(other)
	}
	return raw
}
