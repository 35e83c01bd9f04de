package client

import (
	"context"
	"iter"

	"github.com/wardroom/wardroom/sdk/wire"
)

// ExperienceOutcome says how a piece of prior work ended: successful, partial or failed.
type ExperienceOutcome = wire.ExperienceOutcome

// Experience is the outcome of a thread's work, kept for later work.
type Experience struct {
	Meta
	wire.Experience
}

// ExperienceList is one page of experiences, newest first, or with a query the most relevant first.
type ExperienceList struct {
	Meta
	PageInfo
	Experiences []Experience `json:"experiences"`
}

func (l *ExperienceList) page() ([]Experience, PageInfo) { return l.Experiences, l.PageInfo }

// ExperienceFilter selects experiences of a list. Zero values select all.
type ExperienceFilter struct {
	Query       string // full text
	Repo        string
	Role        string
	Outcome     string
	ExecutionID string
	Page
}

// GetExperience returns one experience.
func (c *Client) GetExperience(ctx context.Context, id string) (*Experience, error) {
	return get[Experience](ctx, c, threadsPath+"/experiences/"+segment(id))
}

// ListExperiences returns one page of experiences.
func (c *Client) ListExperiences(ctx context.Context, filter ExperienceFilter) (*ExperienceList, error) {
	return listOf[ExperienceList](ctx, c, threadsPath+"/experiences", filter.Page,
		"q", filter.Query, "repo", filter.Repo, "role", filter.Role, "outcome", filter.Outcome, "executionId", filter.ExecutionID)
}

// Experiences walks all pages of a list.
func (c *Client) Experiences(ctx context.Context, filter ExperienceFilter) iter.Seq2[Experience, error] {
	return walkList(ctx, filter, c.ListExperiences)
}
