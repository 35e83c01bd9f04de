package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// experienceRoutes are there when the service has a memory.
func (s *Server) experienceRoutes() []Route {
	if s.opts.Memory == nil {
		return nil
	}
	return []Route{{
		Method: http.MethodGet, Path: threadsPath + "/experiences", OperationID: "listExperiences", Tag: "memory",
		Resource: "experiences", Action: "experiences.read", Scope: "executions:read",
		Summary: "Find what prior work came to: newest first, or with q the most relevant first.",
		Query: append(pageParams(),
			Param{Name: "q", Type: ParamString, Selects: experienceTexts, Doc: "Words to look for; those of details are not found by callers for whom fields are masked. Pages go by offset then."},
			Param{Name: "repo", Type: ParamString, Doc: "Repository."},
			Param{Name: "role", Type: ParamString, Doc: "Role."},
			Param{Name: "outcome", Type: ParamString, Enum: words(core.ExperienceOutcomes), Doc: "Outcome."},
			Param{Name: "executionId", Type: ParamString, Doc: "Execution."}),
		Responses: []Response{{Status: 200, Body: experienceList{}, Doc: "A page of experiences."}},
		Fails:     []int{404}, Handle: s.listExperiences,
	}, {
		Method: http.MethodGet, Path: threadsPath + "/experiences/{experienceId}", OperationID: "getExperience", Tag: "memory",
		Resource: "experiences", Action: "experiences.read", Scope: "executions:read", Summary: "Get one experience.",
		Responses: []Response{{Status: 200, Body: wire.Experience{}, Doc: "The experience."}},
		Fails:     []int{404}, Handle: s.getExperience,
	}}
}

// getExperience goes by the execution of an experience, as their list does.
func (s *Server) getExperience(c *call) (answer, error) {
	id := c.param("experienceId")
	e, err := s.opts.Memory.FindExperience(c.ctx, id)
	if err != nil {
		return answer{}, err
	}
	need := c.need()
	if need.ID = e.ExecutionID; !c.mayList(need) {
		return answer{}, core.NotFound("experience", id)
	}
	body := e.Experience
	body.Details = rawOr(e.Details, "{}")
	return ok(body), nil
}

// experienceTexts are the fields that are searched.
var experienceTexts = []string{
	"objective", "summary", "role", "repo", // and details, but for those who may not read all fields in clear
}

type experienceList struct {
	Experiences []wire.Experience `json:"experiences"`
	wire.PageInfo
}

func (s *Server) listExperiences(c *call) (answer, error) {
	page, err := c.page()
	if err != nil {
		return answer{}, err
	}
	if page.Cursor != "" && c.query.text("q") != "" {
		return answer{}, core.Invalid("cursor", "cannot be combined with q: use offset")
	}
	filter := core.ExperienceFilter{
		Query: c.query.text("q"), Repo: c.query.text("repo"), Role: c.query.text("role"),
		Outcome: core.ExperienceOutcome(c.query.text("outcome")), ExecutionID: c.query.text("executionId"),
		NoDetails: c.query.text("q") != "" && c.masks(),
	}
	experiences := listOf(c, func(e *core.Experience) string { return e.ExecutionID }, func(page core.Page) ([]*core.Experience, core.PageInfo, error) {
		filter.Page = page
		return s.opts.Memory.FindExperiences(c.ctx, filter)
	})
	experiences.id = func(e *core.Experience) string { return e.ID } // an execution may have several
	found, info, err := experiences.page(page)
	if err != nil {
		return answer{}, err
	}
	list := experienceList{Experiences: make([]wire.Experience, len(found)), PageInfo: pageOf(page, info)}
	for i, e := range found {
		list.Experiences[i] = e.Experience
		list.Experiences[i].Details = rawOr(e.Details, "{}")
	}
	return ok(list), nil
}
