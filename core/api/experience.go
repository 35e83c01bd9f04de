package api

import (
	"encoding/json"
	"net/http"

	"github.com/wardroom/wardroom/core"
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
			Param{Name: "q", Type: ParamString, Doc: "Words to look for. Pages go by offset then."},
			Param{Name: "repo", Type: ParamString, Doc: "Repository."},
			Param{Name: "role", Type: ParamString, Doc: "Role."},
			Param{Name: "outcome", Type: ParamString, Enum: experienceOutcomes(), Doc: "Outcome."},
			Param{Name: "executionId", Type: ParamString, Doc: "Execution."}),
		Responses: []Response{{Status: 200, Body: experienceList{}, Doc: "A page of experiences."}},
		Fails:     []int{404}, Handle: s.listExperiences,
	}}
}

func experienceOutcomes() []string {
	list := make([]string, len(core.ExperienceOutcomes))
	for i, o := range core.ExperienceOutcomes {
		list[i] = string(o)
	}
	return list
}

// experienceBody is an episodic experience on the wire.
type experienceBody struct {
	ID          string                 `json:"id"`
	ExecutionID string                 `json:"executionId"`
	ThreadID    string                 `json:"threadId,omitempty"`
	Role        string                 `json:"role"`
	Repo        string                 `json:"repo"`
	Objective   string                 `json:"objective"`
	Summary     string                 `json:"summary"`
	Outcome     core.ExperienceOutcome `json:"outcome" enum:"successful,partial,failed"`
	Details     json.RawMessage        `json:"details" doc:"{changes, tests, artifacts, error, turns, durationMs, agentType}, as far as they are known."`
	CreatedAt   timestamp              `json:"createdAt"`
	UpdatedAt   *timestamp             `json:"updatedAt,omitempty" doc:"When the same was made again."`
	Count       int                    `json:"count" doc:"How often it was made."`
	Score       float64                `json:"score,omitempty" doc:"Relevance to q; to be compared within one answer only."`
}

type experienceList struct {
	Experiences []experienceBody `json:"experiences"`
	Total       int              `json:"total"`
	Limit       int              `json:"limit"`
	Offset      int              `json:"offset"`
	HasMore     bool             `json:"hasMore"`
	NextCursor  string           `json:"nextCursor,omitempty" doc:"cursor of the next page; absent on the last, and with q."`
}

func (s *Server) listExperiences(c *call) (answer, error) {
	page, err := c.page()
	if err != nil {
		return answer{}, err
	}
	if page.Cursor != "" && c.query.text("q") != "" {
		return answer{}, core.Invalid("cursor", "cannot be combined with q: use offset")
	}
	found, info, err := s.opts.Memory.FindExperiences(c.ctx, core.ExperienceFilter{
		Query: c.query.text("q"), Repo: c.query.text("repo"), Role: c.query.text("role"),
		Outcome: core.ExperienceOutcome(c.query.text("outcome")), ExecutionID: c.query.text("executionId"), Page: page,
	})
	if err != nil {
		return answer{}, err
	}
	list := experienceList{
		Experiences: make([]experienceBody, len(found)), Total: info.Total,
		Limit: page.Limit, Offset: page.Offset, HasMore: info.HasMore, NextCursor: info.NextCursor,
	}
	for i, e := range found {
		list.Experiences[i] = experienceBody{
			ID: e.ID, ExecutionID: e.ExecutionID, ThreadID: e.ThreadID, Role: e.Role, Repo: e.Repo, Objective: e.Objective,
			Summary: e.Summary, Outcome: e.Outcome, Details: rawOr(e.Details, "{}"), CreatedAt: timestamp(e.CreatedAt),
			UpdatedAt: stamp(e.UpdatedAt), Count: e.Count, Score: e.Score,
		}
	}
	return ok(list), nil
}
