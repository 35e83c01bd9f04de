package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Experience is what a thread's work came to, kept for later work.
type Experience struct {
	ID          string          `json:"id"`
	ExecutionID string          `json:"executionId"`
	ThreadID    string          `json:"threadId,omitempty"`
	Role        string          `json:"role"`
	Repo        string          `json:"repo"`
	Objective   string          `json:"objective"`
	Summary     string          `json:"summary"`
	Outcome     string          `json:"outcome"` // successful, partial, failed
	Details     json.RawMessage `json:"details,omitempty"`
	CreatedAt   time.Time       `json:"createdAt"`
	UpdatedAt   *time.Time      `json:"updatedAt,omitempty"` // the same was made again
	Count       int             `json:"count"`
	Score       float64         `json:"score,omitempty"` // relevance to the query
}

// ExperienceList is one page of experiences, newest first, or with a query the most relevant first.
type ExperienceList struct {
	Meta
	PageInfo
	Experiences []Experience `json:"experiences"`
}

// ExperienceFilter selects experiences of a list. Zero values select all.
type ExperienceFilter struct {
	Query       string // full text
	Repo        string
	Role        string
	Outcome     string
	ExecutionID string
	Page
}

// ListExperiences returns one page of experiences.
func (c *Client) ListExperiences(ctx context.Context, filter ExperienceFilter) (*ExperienceList, error) {
	query := url.Values{}
	for name, value := range map[string]string{
		"q": filter.Query, "repo": filter.Repo, "role": filter.Role, "outcome": filter.Outcome, "executionId": filter.ExecutionID,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	filter.addTo(query)
	out := new(ExperienceList)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: threadsPath + "/experiences", query: query}, out))
}

// Experiences walks all pages of a list.
func (c *Client) Experiences(ctx context.Context, filter ExperienceFilter) iter.Seq2[Experience, error] {
	return walk(ctx, filter.Page, func(ctx context.Context, page Page) ([]Experience, PageInfo, error) {
		filter.Page = page
		list, err := c.ListExperiences(ctx, filter)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return list.Experiences, list.PageInfo, nil
	})
}
