package overview_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/overview"
	"github.com/wardroom/wardroom/core/storetest"
)

// waits is a store with questions, of which one is answered after the first read of them.
type waits struct {
	*storetest.Memory
	threads []*core.ThreadRecord
	read    func()
}

func (w *waits) FindThreads(context.Context, core.ThreadFilter) ([]*core.ThreadRecord, core.PageInfo, error) {
	return w.threads, core.PageInfo{Total: len(w.threads)}, nil
}

func (w *waits) FindQuestions(ctx context.Context, filter core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
	list, info, err := w.Memory.FindQuestions(ctx, filter)
	if read := w.read; read != nil {
		w.read = nil
		read()
	}
	return list, info, err
}

// restless is a store whose newest open question is another one at each read.
type restless struct {
	*waits
	ids core.IDs
}

func (r restless) FindQuestions(ctx context.Context, filter core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
	list, info, err := r.waits.FindQuestions(ctx, filter)
	for i, q := range list {
		next := *q
		next.ID = r.ids.New(core.PrefixQuestion)
		list[i] = &next
	}
	return list, info, err
}

// managed are no agents.
type managed struct{}

func (managed) FindManagedAgents(context.Context, core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error) {
	return nil, core.PageInfo{}, nil
}

// A question that is answered while a page of the inbox is read takes no other one out of its pages.
func TestAnsweredWhileInboxIsRead(t *testing.T) {
	clock := coretest.NewClock()
	ids := core.NewIDs(clock)
	w := &waits{Memory: storetest.NewMemory(t)}
	var questions []*core.Question
	for n := range 6 {
		clock.Advance(time.Minute)
		q := &core.Question{ID: ids.New(core.PrefixQuestion), ExecutionID: ids.New(core.PrefixExecution), Kind: core.QuestionMessage, Status: core.QuestionOpen,
			Text: fmt.Sprint("question ", n), CreatedAt: clock.Now(), ExpiresAt: clock.Now().Add(time.Hour)}
		questions = append(questions, q)
		if err := w.Update(t.Context(), func(tx core.Tx) error { return tx.PutQuestion(q) }); err != nil {
			t.Fatal(err)
		}
	}
	blocked := clock.Now() // among the first on its page, so that the page has not all the questions that were read
	w.threads = []*core.ThreadRecord{{}}
	w.threads[0].ID, w.threads[0].BlockedSince = ids.New(core.PrefixThread), &blocked
	w.read = func() {
		answered := *questions[5]
		answered.Status = core.QuestionAnswered
		if err := w.Update(t.Context(), func(tx core.Tx) error { return tx.PutQuestion(&answered) }); err != nil {
			t.Error(err)
		}
	}
	s := overview.New(overview.Options{Store: w, Managed: managed{}, Clock: clock})
	seen := map[string]int{}
	filter := core.InboxFilter{Sources: []core.InboxSource{core.InboxExecution, core.InboxThread}, Page: core.Page{Limit: 3}}
	for range 10 {
		items, info, err := s.FindInbox(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			seen[i.ID]++
		}
		if !info.HasMore {
			break
		}
		filter.Cursor = info.NextCursor
	}
	for _, q := range questions[:5] {
		if seen[q.ID] != 1 {
			t.Errorf("%s is there %d times", q.Text, seen[q.ID])
		}
	}
}

// Questions that never come to rest are an answer to try again, and not a request without end.
func TestInboxOfRestlessQuestions(t *testing.T) {
	clock := coretest.NewClock()
	ids := core.NewIDs(clock)
	w := &waits{Memory: storetest.NewMemory(t)}
	for range 3 {
		q := &core.Question{ID: ids.New(core.PrefixQuestion), ExecutionID: ids.New(core.PrefixExecution), Kind: core.QuestionMessage, Status: core.QuestionOpen,
			Text: "which?", CreatedAt: clock.Now(), ExpiresAt: clock.Now().Add(time.Hour)}
		if err := w.Update(t.Context(), func(tx core.Tx) error { return tx.PutQuestion(q) }); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(time.Minute)
	blocked := clock.Now() // the first on its page
	w.threads = []*core.ThreadRecord{{}}
	w.threads[0].ID, w.threads[0].BlockedSince = ids.New(core.PrefixThread), &blocked
	s := overview.New(overview.Options{Store: restless{w, ids}, Managed: managed{}, Clock: clock})
	filter := core.InboxFilter{Sources: []core.InboxSource{core.InboxExecution, core.InboxThread}, Page: core.Page{Limit: 2}}
	if _, _, err := s.FindInbox(t.Context(), filter); err == nil || !core.AsError(err).Unavailable {
		t.Errorf("%v, want an answer to try again", err)
	}
}

// What is wrong in a filter is not taken for a wrong cursor.
func TestInboxRefuses(t *testing.T) {
	s := overview.New(overview.Options{Store: &waits{Memory: storetest.NewMemory(t)}, Managed: managed{}, Clock: coretest.NewClock()})
	execution := []core.InboxSource{core.InboxExecution}
	inner := base64.RawURLEncoding.EncodeToString([]byte(`{"q":"odd","t":"2026-01-02T03:04:05Z","i":"q_1"}`))
	for field, filter := range map[string]core.InboxFilter{
		"createdBy": {Sources: execution, CreatedBy: strings.Repeat("a", core.MaxIndexedBytes+1)},
		"cursor":    {Sources: execution, Page: core.Page{Cursor: inner}},
		"limit":     {Page: core.Page{Limit: -1}},
		"offset":    {Page: core.Page{Offset: 1}},
	} {
		_, _, err := s.FindInbox(t.Context(), filter)
		if e := core.AsError(err); core.ErrorCode(err) != core.CodeValidation || e.Details["field"] != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
