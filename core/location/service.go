package location

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
)

var _ core.LocationService = (*Service)(nil)

// Store is the part of the durable state that a Service reads. It has many methods because what an id may name is of many kinds.
type Store interface {
	FindExecutions(ctx context.Context, filter core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error)
	FindThreads(ctx context.Context, filter core.ThreadFilter) ([]*core.ThreadRecord, core.PageInfo, error)
	FindDecision(ctx context.Context, id string) (*core.Decision, error)
	FindDelivery(ctx context.Context, id string) (*core.Delivery, error)
	Events(ctx context.Context, subject string, after uint64, limit int) (page []core.Event, more bool, err error)
	Log(ctx context.Context, after uint64, limit int) (page []core.Event, more bool, err error)
	LastSeq() uint64
}

// Service locates things. It holds nothing and is safe for concurrent use. Store is needed.
type Service struct {
	Store Store
}

const (
	// slack is how far the time of an event may lie from that of an id that was made for it.
	slack     = 5 * time.Second
	eventPage = 64 // events that are read at once
	// Bounds of what one call looks at.
	maxExecutions = 20_000
	maxThreads    = 5_000
)

// delays are how long after the making of its id a task may be found in a journal, which names it once an agent has it. Those that
// got an agent soon are looked for in all journals before any journal is read further; the last delay is as long as it takes.
var delays = []time.Duration{slack, time.Minute, time.Hour, 1 << 62}

// Locate implements core.LocationService.
func (s *Service) Locate(ctx context.Context, id string) (*core.Location, error) {
	at, _ := core.IDTime(id)
	switch {
	case core.ValidID(core.PrefixTask, id):
		return s.inExecution(ctx, core.Location{ID: id, Kind: core.LocatedTask}, at)
	case core.ValidID(core.PrefixMessage, id):
		return s.inExecution(ctx, core.Location{ID: id, Kind: core.LocatedMessage}, at)
	case core.ValidID(core.PrefixInput, id):
		return s.inThread(ctx, core.Location{ID: id, Kind: core.LocatedInput}, at)
	case core.ValidID(core.PrefixEvent, id):
		return s.inLog(ctx, core.Location{ID: id, Kind: core.LocatedEvent}, at)
	case core.ValidID(core.PrefixDecision, id):
		d, err := s.Store.FindDecision(ctx, id)
		if err != nil {
			return nil, err
		}
		return &core.Location{ID: id, Kind: core.LocatedDecision, ExecutionID: d.ExecutionID, ThreadID: d.ThreadID}, nil
	case core.ValidID(core.PrefixDelivery, id):
		d, err := s.Store.FindDelivery(ctx, id)
		if err != nil {
			return nil, err
		}
		return &core.Location{ID: id, Kind: core.LocatedDelivery, WebhookID: d.WebhookID}, nil
	}
	return nil, core.Invalid("id", "must be the id of a task, a message, an input, a decision, a delivery or an event: task_, msg_, in_, dec_, dlv_, evt_ and 26 letters and digits")
}

// inExecution finds the execution in whose journal something stands that was made at a time: one that was made before and ended
// after it. Those that run come first.
func (s *Service) inExecution(ctx context.Context, found core.Location, at time.Time) (*core.Location, error) {
	after, err := s.seqBefore(ctx, at)
	if err != nil {
		return nil, err
	}
	left := newBudget()
	var journals []*journal // what is left of them for longer delays
	for _, statuses := range [][]core.ExecutionStatus{
		{core.ExecutionPending, core.ExecutionRunning}, {core.ExecutionCompleted, core.ExecutionFailed, core.ExecutionCancelled},
	} {
		filter := core.ExecutionFilter{Statuses: statuses, Until: at.Add(time.Millisecond), Page: core.Page{Limit: core.MaxPageLimit}}
		for looked := 0; looked < maxExecutions; {
			rows, info, err := s.Store.FindExecutions(ctx, filter)
			if err != nil {
				return nil, err
			}
			for _, row := range rows {
				if end := cmp.Or(row.CompletedAt, row.CancelledAt); end != nil && end.Before(at.Add(-slack)) {
					continue
				}
				j := &journal{subject: row.ID, after: after}
				has, err := s.names(ctx, j, found.ID, at.Add(delays[0]), left)
				if err != nil {
					return nil, err
				}
				if has {
					found.ExecutionID = row.ID
					return &found, nil
				}
				if !j.over {
					journals = append(journals, j)
				}
			}
			looked += max(len(rows), 1)
			if !info.HasMore || left.spent() {
				break
			}
			filter.Cursor = info.NextCursor
		}
	}
	for _, delay := range delays[1:] {
		for _, j := range journals {
			has, err := s.names(ctx, j, found.ID, at.Add(delay), left)
			if err != nil {
				return nil, err
			}
			if has {
				found.ExecutionID = j.subject
				return &found, nil
			}
		}
	}
	return nil, core.NotFound(found.Kind, found.ID)
}

// inThread finds the thread that an input was sent to at a time, the youngest first.
func (s *Service) inThread(ctx context.Context, found core.Location, at time.Time) (*core.Location, error) {
	after, err := s.seqBefore(ctx, at)
	if err != nil {
		return nil, err
	}
	filter := core.ThreadFilter{Page: core.Page{Limit: core.MaxPageLimit}}
	left := newBudget()
	for looked := 0; looked < maxThreads && !left.spent(); {
		list, info, err := s.Store.FindThreads(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			if t.CreatedAt.After(at.Add(slack)) {
				continue
			}
			has, err := s.names(ctx, &journal{subject: t.ID, after: after}, found.ID, at.Add(slack), left)
			if err != nil {
				return nil, err
			}
			if has {
				found.ThreadID = t.ID
				return &found, nil
			}
		}
		if looked += len(list); !info.HasMore {
			break
		}
		filter.Cursor = info.NextCursor
	}
	return nil, core.NotFound(found.Kind, found.ID)
}

// inLog finds the public event with an id. Thread events, whose ids are made up of their times, are not in the log.
func (s *Service) inLog(ctx context.Context, found core.Location, at time.Time) (*core.Location, error) {
	after, err := s.seqBefore(ctx, at)
	if err != nil {
		return nil, err
	}
	for left := newBudget(); !left.spent(); {
		page, more, err := s.Store.Log(ctx, after, eventPage)
		if err != nil {
			return nil, err
		}
		left.take(page)
		for i := range page {
			ev := &page[i]
			if after = ev.Seq; ev.ID != found.ID {
				continue
			}
			found.Subject = cmp.Or(core.NoticeOf(ev.Subject), ev.Subject)
			if name, ok := strings.CutPrefix(ev.Subject, core.PatternSubject("")); ok {
				found.Subject, found.Pattern = "", name
			}
			return &found, nil
		}
		if !more || len(page) == 0 || page[len(page)-1].Time.After(at.Add(slack)) {
			break
		}
	}
	return nil, core.NotFound(found.Kind, found.ID)
}

// subjectOf holds the ids that an event is about. An answer of an agent, deeper in its data, may quote any other id.
type subjectOf struct {
	TaskID    string      `json:"taskId"`
	MessageID string      `json:"messageId"`
	InputID   string      `json:"inputId"`
	Tasks     []subjectOf `json:"tasks"` // of an event about several
}

// is reports whether an id is one of them.
func (o subjectOf) is(id string) bool {
	return o.TaskID == id || o.MessageID == id || o.InputID == id || slices.ContainsFunc(o.Tasks, func(one subjectOf) bool { return one.is(id) })
}

// names reports whether an event of a journal that was not read yet is about an id. It reads on until an event is later than a
// time, or nothing is left to read.
func (s *Service) names(ctx context.Context, j *journal, id string, until time.Time, left *budget) (bool, error) {
	quoted := []byte(`"` + id + `"`)
	for !j.over && !j.last.After(until) && !left.spent() {
		page, more, err := s.Store.Events(ctx, j.subject, j.after, eventPage)
		if err != nil {
			return false, err
		}
		left.take(page)
		for i := range page {
			ev := &page[i]
			if bytes.Contains(ev.Data, quoted) {
				var about subjectOf
				_ = json.Unmarshal(ev.Data, &about) // a field of another type leaves the others as they are
				if about.is(id) {
					return true, nil
				}
			}
			j.after, j.last = ev.Seq, ev.Time
		}
		j.over = !more || len(page) == 0
	}
	return false, nil
}

// seqBefore returns a sequence behind which everything lies that happened at a time or later: that of a public event of before.
// It is 0 where the log begins later.
func (s *Service) seqBefore(ctx context.Context, at time.Time) (uint64, error) {
	at = at.Add(-slack)
	low, high := uint64(0), s.Store.LastSeq()
	for low < high {
		middle := low + (high-low)/2
		page, _, err := s.Store.Log(ctx, middle, 1)
		if err != nil {
			return 0, err
		}
		if len(page) == 0 || page[0].Seq > high || !page[0].Time.Before(at) {
			high = middle
			continue
		}
		low = page[0].Seq
	}
	return low, nil
}
