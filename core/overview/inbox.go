package overview

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// place is where a page of the inbox begins: behind what the page before had. Questions come in pages of the store, and
// all others, which are few, are sorted among them.
type place struct {
	Questions string    `json:"q,omitempty"` // cursor of the next question
	Over      bool      `json:"o,omitempty"` // there are no more questions
	Since     time.Time `json:"t"`           // of the last item
	ID        string    `json:"i"`
}

func decodePlace(cursor string) (p place, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.ID == "" || p.Since.IsZero() {
		return p, core.Invalid("cursor", "is not one that the inbox returned")
	}
	return p, nil
}

func (p place) encode() string {
	raw, _ := json.Marshal(p) // plain data always encodes
	return base64.RawURLEncoding.EncodeToString(raw)
}

// order sorts items: the newest first.
func order(a, b *core.InboxItem) int {
	return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(b.ID, a.ID))
}

// inboxTries is how often a page is read at most whose questions are others meanwhile.
const inboxTries = 10

// errMoved reports that questions came or went while a page was read.
var errMoved = core.Unavailable("busy", "questions come and go faster than they are read; try again")

// FindInbox implements core.OverviewService.
func (s *Service) FindInbox(ctx context.Context, filter core.InboxFilter) (items []*core.InboxItem, info core.PageInfo, err error) {
	for range inboxTries {
		if items, info, err = s.readInbox(ctx, filter); !errors.Is(err, errMoved) {
			break
		}
	}
	return items, info, err
}

// readInbox is FindInbox of one moment; errMoved where that was too long.
func (s *Service) readInbox(ctx context.Context, filter core.InboxFilter) ([]*core.InboxItem, core.PageInfo, error) {
	var info core.PageInfo
	limit := cmp.Or(filter.Limit, core.DefaultPageLimit)
	if limit < 0 || limit > core.MaxPageLimit {
		return nil, info, core.Invalid("limit", "must be between 1 and %d", core.MaxPageLimit)
	}
	if filter.Offset != 0 {
		return nil, info, core.Invalid("offset", "does not place a page of the inbox: use the cursor")
	}
	from := place{Over: !has(filter.Sources, core.InboxExecution)}
	if filter.Cursor != "" {
		var err error
		if from, err = decodePlace(filter.Cursor); err != nil {
			return nil, info, err
		}
	}
	others, more, err := s.others(ctx, filter)
	if err != nil {
		return nil, info, err
	}
	info.Total, info.AtLeast = len(others), more
	if filter.Cursor != "" {
		last := &core.InboxItem{ID: from.ID, Since: from.Since}
		others = slices.DeleteFunc(others, func(i *core.InboxItem) bool { return order(last, i) >= 0 })
	}
	var asked []*core.InboxItem
	var found core.PageInfo
	if has(filter.Sources, core.InboxExecution) {
		page := core.Page{Limit: limit, Cursor: from.Questions}
		if from.Over {
			page = one
		}
		var list []*core.Question
		if list, found, err = s.opts.Store.FindQuestions(ctx, openQuestions(filter, page)); err != nil {
			return nil, info, inboxCursor(err)
		}
		info.Total += found.Total
		info.HasMore = found.HasMore && !from.Over
		for _, q := range list {
			if !from.Over {
				asked = append(asked, questionItem(q))
			}
		}
	}
	items := merge(asked, others)
	if len(items) <= limit && !info.HasMore {
		return items, info, nil
	}
	items = items[:min(limit, len(items))]
	info.HasMore = true
	next := from
	last := items[len(items)-1]
	next.Since, next.ID = last.Since, last.ID
	used := 0
	for _, i := range items {
		if i.Source == core.InboxExecution {
			used++
		}
	}
	if used > 0 && used < len(asked) {
		var list []*core.Question
		if list, found, err = s.opts.Store.FindQuestions(ctx, openQuestions(filter, core.Page{Limit: used, Cursor: from.Questions})); err != nil {
			return nil, info, inboxCursor(err)
		}
		if len(list) < used || list[used-1].ID != asked[used-1].ID { // the next page would leave out one
			return nil, core.PageInfo{}, errMoved
		}
	}
	if used > 0 {
		next.Questions, next.Over = found.NextCursor, !found.HasMore
	}
	info.NextCursor = next.encode()
	return items, info, nil
}

func openQuestions(filter core.InboxFilter, page core.Page) core.QuestionFilter {
	return core.QuestionFilter{Status: core.QuestionOpen, CreatedBy: filter.CreatedBy, Page: page}
}

// inboxCursor says of a cursor within the inbox's own that is not one of the store's what callers know.
func inboxCursor(err error) error {
	if e := core.AsError(err); e.Code == core.CodeValidation && e.Details["field"] == "cursor" {
		return core.Invalid("cursor", "is not one that the inbox returned")
	}
	return err
}

// merge sorts others among questions, which stay in the order in which the store has them.
func merge(asked, others []*core.InboxItem) []*core.InboxItem {
	items := make([]*core.InboxItem, 0, len(asked)+len(others))
	for len(asked) > 0 && len(others) > 0 {
		if order(asked[0], others[0]) <= 0 {
			items, asked = append(items, asked[0]), asked[1:]
		} else {
			items, others = append(items, others[0]), others[1:]
		}
	}
	return append(append(items, asked...), others...)
}

func questionItem(q *core.Question) *core.InboxItem {
	i := &core.InboxItem{
		ID: q.ID, Source: core.InboxExecution, Kind: q.Kind, Text: q.Text, Options: q.Options, URL: q.URL, PromptID: q.PromptID,
		ExecutionID: q.ExecutionID, AgentID: q.AgentID, Role: q.Role, CreatedBy: q.CreatedBy, Since: q.CreatedAt,
		AnswerURL: "/api/executions/" + q.ExecutionID + "/questions/" + q.ID + "/answer",
	}
	if !q.ExpiresAt.IsZero() {
		i.ExpiresAt = &q.ExpiresAt
	}
	var content core.InboxItem
	if q.Kind != core.QuestionMessage && json.Unmarshal(q.Content, &content) == nil { // a message holds what its sender likes
		i.Tool, i.Input = content.Tool, content.Input
	}
	return i
}

// fill puts a prompt, which has the names of an item, into one, or that a login is needed, where there is none.
func fill(i *core.InboxItem, raw json.RawMessage, loginURL string) {
	var p core.InboxItem
	_ = json.Unmarshal(raw, &p) // it may be none
	i.Kind, i.Text, i.Tool, i.Input, i.Options, i.URL, i.PromptID = p.Kind, p.Text, p.Tool, p.Input, p.Options, cmp.Or(p.URL, loginURL), p.ID
	i.Kind = cmp.Or(i.Kind, core.QuestionLogin)
	if i.Text == "" && i.Kind == core.QuestionLogin {
		i.Text = "a login is needed"
	}
}

// others returns what waits beside questions of executions, newest first; more reports whether there may be others.
func (s *Service) others(ctx context.Context, filter core.InboxFilter) (items []*core.InboxItem, more bool, err error) {
	if has(filter.Sources, core.InboxThread) {
		page := core.Page{Limit: core.MaxPageLimit}
		for seen := 0; ; {
			list, info, err := s.opts.Store.FindThreads(ctx, core.ThreadFilter{Status: core.ThreadBlocked, CreatedBy: filter.CreatedBy, Page: page})
			if err != nil {
				return nil, false, err
			}
			for _, t := range list {
				if t.Kind != core.ThreadKindRole { // what a role waits for is a question of its execution
					items = append(items, threadItem(t))
				}
			}
			seen += len(list)
			if page.Cursor = info.NextCursor; !info.HasMore || page.Cursor == "" {
				break
			}
			if more = seen >= maxScan; more {
				break
			}
		}
	}
	if has(filter.Sources, core.InboxManagedAgent) {
		agents, others, err := s.managed(ctx, filter.CreatedBy)
		if err != nil {
			return nil, false, err
		}
		more = more || others
		for _, a := range agents {
			if i := s.agentItem(a); i != nil {
				items = append(items, i)
			}
		}
	}
	slices.SortFunc(items, order)
	return items, more, nil
}

func threadItem(t *core.ThreadRecord) *core.InboxItem {
	i := &core.InboxItem{
		ID: t.ID, Source: core.InboxThread, ExecutionID: t.ExecutionID, ThreadID: t.ID, Name: t.Name, Role: t.Role, AgentType: t.AgentType, CreatedBy: t.CreatedBy,
		AgentID: cmp.Or(t.ManagedAgentID, t.AgentID), Since: t.LastActivityAt, AnswerURL: "/api/managed-threads/" + t.ID + "/answer",
	}
	if t.BlockedSince != nil {
		i.Since = *t.BlockedSince
	}
	fill(i, t.Prompt, t.LoginURL)
	return i
}

// agentItem returns what a managed agent waits for; nil if it waits for nothing, or for what its thread or role asks.
func (s *Service) agentItem(a *core.ManagedAgent) *core.InboxItem {
	if a.Gone() || a.Labels[s.opts.ThreadLabel] != "" || a.Labels[s.opts.RoleLabel] != "" {
		return nil
	}
	login := a.StatusReason == core.ReasonLogin
	if !login && (a.StatusReason != core.ReasonBlocked || len(a.Prompt) == 0) {
		return nil
	}
	i := &core.InboxItem{
		ID: a.ID, Source: core.InboxManagedAgent, AgentID: a.ID, Name: a.Name, AgentType: a.Type, CreatedBy: a.CreatedBy, Since: a.LastActivityAt,
		AnswerURL: "/api/managed-agents/" + a.ID + "/answer",
	}
	fill(i, a.Prompt, a.LoginURL)
	return i
}
