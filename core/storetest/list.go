package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// model is the naive list: all executions, filtered and sorted on each call.
type model map[string]*core.Execution

func (m model) list(f core.ExecutionFilter) []string {
	var ids []string
	for id, e := range m {
		if (f.Pattern == "" || e.Pattern.Name == f.Pattern) && (len(f.Statuses) == 0 || slices.Contains(f.Statuses, e.Status)) &&
			(f.Since.IsZero() || !e.CreatedAt.Before(f.Since)) && (f.Until.IsZero() || e.CreatedAt.Before(f.Until)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
}

// Names that would collide if keys were put together carelessly.
var hostileNames = []string{"vote", "vote2", "a/b", "a", "a\x00", "a\x00\x01b", "\uffff", "ünï", "completed", strings.Repeat("n", 10_000)}

// Random puts, changes of status and retention, then every list must equal the model's, by pages of any
// size, by cursor and by offset.
func testListsEqualModel(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	m := model{}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 600 {
		id := idAt(start.Add(time.Duration(rnd.IntN(2000))*time.Millisecond), i+1)
		if i > 20 && rnd.IntN(2) == 0 { // an old one moves on
			ids := m.list(core.ExecutionFilter{})
			id = ids[rnd.IntN(len(ids))]
		}
		pattern := hostileNames[rnd.IntN(len(hostileNames))]
		if old := m[id]; old != nil {
			pattern = old.Pattern.Name
		}
		m[id] = execution(id, pattern, core.ExecutionStatuses[rnd.IntN(5)])
		putExecution(t, s, m[id])
	}
	times := []time.Time{{}, start, start.Add(700 * time.Millisecond), start.Add(1500 * time.Millisecond), start.Add(time.Hour)}
	for _, pattern := range append([]string{"", "unknown"}, hostileNames...) {
		for _, status := range append([]core.ExecutionStatus{""}, core.ExecutionStatuses...) {
			for _, since := range times {
				f := core.ExecutionFilter{Pattern: pattern, Statuses: statuses(status), Since: since, Until: times[rnd.IntN(len(times))]}
				wantList(t, fmt.Sprintf("%.200q", fmt.Sprint(f)), executionList(s, f), m.list(f), 1+rnd.IntN(40))
			}
		}
	}
}

func executionList(s *store.Store, f core.ExecutionFilter) lister {
	return listOf(s.FindExecutions, func(p core.Page) core.ExecutionFilter { f.Page = p; return f },
		func(e *core.Execution) string { return e.ID })
}

func testListErrors(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	fill(t, s, 30)
	_, info, err := s.FindExecutions(ctx, core.ExecutionFilter{Pattern: "p1", Page: core.Page{Limit: 2}})
	if err != nil || info.NextCursor == "" {
		t.Fatal(info, err)
	}
	for name, test := range map[string]struct {
		filter core.ExecutionFilter
		field  string
	}{
		"ErrStatus":       {core.ExecutionFilter{Statuses: []core.ExecutionStatus{"paused"}}, "status"},
		"ErrLimit":        {core.ExecutionFilter{Page: core.Page{Limit: 101}}, "limit"},
		"ErrLimitLow":     {core.ExecutionFilter{Page: core.Page{Limit: -1}}, "limit"},
		"ErrOffset":       {core.ExecutionFilter{Page: core.Page{Offset: -1}}, "offset"},
		"ErrCursor":       {core.ExecutionFilter{Page: core.Page{Cursor: "what?"}}, "cursor"},
		"ErrCursorShort":  {core.ExecutionFilter{Page: core.Page{Cursor: "AAAA"}}, "cursor"},
		"ErrCursorFilter": {core.ExecutionFilter{Pattern: "p2", Page: core.Page{Cursor: info.NextCursor}}, "cursor"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := s.FindExecutions(ctx, test.filter)
			wantCode(t, err, core.CodeValidation)
			if got := core.AsError(err).Details["field"]; got != test.field {
				t.Fatalf("field %v, want %s", got, test.field)
			}
		})
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := s.FindExecutions(cancelled, core.ExecutionFilter{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

// A cursor stays good while rows are added and removed around it.
func testCursorIsStable(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	fill(t, s, 40)
	first, info, err := s.FindExecutions(ctx, core.ExecutionFilter{Page: core.Page{Limit: 10}})
	if err != nil {
		t.Fatal(err)
	}
	putExecution(t, s, execution(idAt(start.Add(time.Hour), 1), "p1", core.ExecutionPending))
	second, _, err := s.FindExecutions(ctx, core.ExecutionFilter{Page: core.Page{Limit: 10, Cursor: info.NextCursor}})
	if err != nil || len(second) != 10 || second[0].ID >= first[9].ID {
		t.Fatalf("second page begins with %s after %s, %v", second[0].ID, first[9].ID, err)
	}
}

// A cursor is good for the list that returned it, and for no other.
func testCursorsOfOtherLists(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	exec, hook := idAt(start, 1), webhookAt(start, 1)
	putWebhook(t, s, webhook(hook))
	for n := 1; n <= 3; n++ {
		mustUpdate(t, s, func(tx core.Tx) error {
			return errors.Join(
				tx.PutExecution(execution(idAt(start, n), "vote", core.ExecutionRunning)),
				tx.PutExecution(execution(idAt(start, n+3), "vote", core.ExecutionFailed)),
				tx.PutQuestion(question(questionAt(start, n), exec, core.QuestionOpen)),
				tx.PutThread(thread(threadAt(start, n), exec, core.ThreadReady)),
				tx.PutWorkspace(workspace(ownID(core.PrefixWorkspace, start, n), exec, core.WorkspaceReady)),
				tx.PutDecision(decision(ownID(core.PrefixDecision, start, n), exec, fmt.Sprint(n))),
				tx.PutExperience(experience(ownID(core.PrefixMemory, start, n), fmt.Sprint(n), core.ExperiencePartial)),
				tx.PutDelivery(delivery(n, hook)))
		})
	}
	deliveries := func(f core.DeliveryFilter) lister {
		return listOf(s.FindDeliveries, func(p core.Page) core.DeliveryFilter { f.Page = p; return f },
			func(d *core.Delivery) string { return d.ID })
	}
	lists := map[string]lister{
		"executions":              executionList(s, core.ExecutionFilter{}),
		"executions of a pattern": executionList(s, core.ExecutionFilter{Pattern: "vote"}),
		"active executions":       executionList(s, core.ExecutionFilter{Statuses: []core.ExecutionStatus{core.ExecutionRunning}}),
		"executions that failed":  executionList(s, core.ExecutionFilter{Statuses: []core.ExecutionStatus{core.ExecutionFailed}}),
		"executions since":        executionList(s, core.ExecutionFilter{Since: start}),
		"executions until":        executionList(s, core.ExecutionFilter{Until: start.Add(time.Hour)}),
		"questions":               questionList(s, core.QuestionFilter{}),
		"open questions":          questionList(s, core.QuestionFilter{Status: core.QuestionOpen}),
		"questions of an exec.":   questionList(s, core.QuestionFilter{ExecutionID: exec}),
		"threads":                 threadList(s, core.ThreadFilter{}),
		"threads that are ready":  threadList(s, core.ThreadFilter{Status: core.ThreadReady}),
		"threads of a role":       threadList(s, core.ThreadFilter{Role: "driver"}),
		"workspaces":              workspaceList(s, core.WorkspaceFilter{}),
		"decisions":               decisionList(s, core.DecisionFilter{}),
		"experiences":             experienceList(s, core.ExperienceFilter{}),
		"deliveries":              deliveries(core.DeliveryFilter{}),
		"deliveries of a webhook": deliveries(core.DeliveryFilter{WebhookID: hook}),
		"deliveries that wait":    deliveries(core.DeliveryFilter{Status: core.DeliveryPending}),
		"deliveries of one event": deliveries(core.DeliveryFilter{Event: core.EventExecutionStarted}),
	}
	for name, list := range lists {
		wantPages(t, list)
		_, info, err := list(core.Page{Limit: 1})
		if err != nil || info.NextCursor == "" {
			t.Fatalf("%s: %+v, %v", name, info, err)
		}
		for other, list := range lists {
			_, _, err := list(core.Page{Limit: 1, Cursor: info.NextCursor})
			if e := core.AsError(err); (other == name) != (err == nil) || err != nil && (e.Code != core.CodeValidation || e.Details["field"] != "cursor") {
				t.Errorf("a cursor of %s for %s: %v", name, other, err)
			}
		}
	}
}

// testListsAtOnce: lists read rows, however large what they lead to is: five of each kind at once take a fraction of one
// of the records that are listed.
func testListsAtOnce(t *testing.T, open Opener) {
	const n, size = 16, 1 << 20
	s := open(t, store.Options{})
	large := strings.Repeat("x", size)
	for i := range n {
		e := execution(idAt(start, i+1), "pattern", core.ExecutionCompleted)
		e.Input, e.Result = json.RawMessage(`{"text":"`+large+`"}`), json.RawMessage(`"`+large+`"`)
		e.Agents = []core.AgentResult{{ID: "agent_1", Result: e.Result}}
		r := thread(threadAt(start, i+1), e.ID, core.ThreadCompleted)
		r.Preparation.ContextFiles = []core.ContextFile{{Path: core.ThreadMemoryPath, Content: large}}
		mustUpdate(t, s, func(tx core.Tx) error { return errors.Join(tx.PutExecution(e), tx.PutThread(r)) })
	}
	page := core.Page{Limit: core.MaxPageLimit}
	for name, list := range map[string]func() (int, error){
		"executions": func() (int, error) {
			list, _, err := s.FindExecutions(ctx, core.ExecutionFilter{Page: page})
			return len(list), err
		},
		"threads": func() (int, error) {
			list, _, err := s.FindThreads(ctx, core.ThreadFilter{Page: page})
			return len(list), err
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if got, err := list(); err != nil || got != n {
					t.Errorf("%s: %d rows, %v", name, got, err)
				}
			})
		}
		wg.Wait()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > size {
			t.Errorf("five lists of %s at once took %d KiB", name, took>>10)
		}
	}
}
