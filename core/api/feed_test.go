package api_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/coretest"
)

// fakeFeed has public events, and hands out the live ones once.
type fakeFeed struct{ public, live []core.Event }

func (f *fakeFeed) Live() core.EventStream { return &listed{f.live} }

func (f *fakeFeed) Log(_ context.Context, after uint64, limit int) ([]core.Event, bool, error) {
	var list []core.Event
	for _, ev := range f.public {
		if ev.Seq > after && len(list) < limit {
			list = append(list, ev)
		}
	}
	return list, false, nil
}

// listed is a stream that ends.
type listed struct{ events []core.Event }

func (l *listed) Next(context.Context) (core.Event, error) {
	if len(l.events) == 0 {
		return core.Event{}, io.EOF
	}
	ev := l.events[0]
	l.events = l.events[1:]
	return ev, nil
}

func (l *listed) Close() {}

// TestFeedNotices: what is public of a thread or a managed agent goes to those who may read it by its id.
func TestFeedNotices(t *testing.T) {
	ids := core.NewIDs(coretest.NewClock())
	open, closed, agent := ids.New(core.PrefixThread), ids.New(core.PrefixThread), ids.New(core.PrefixManaged)
	r := newRig(t, func(o *api.Options) {
		o.Feed = &fakeFeed{live: []core.Event{
			{Seq: 1001, Type: core.EventPublicThreadBlocked, Subject: core.NoticeSubject(open)},
			{Seq: 1002, Type: core.EventPublicThreadBlocked, Subject: core.NoticeSubject(closed)},
			{Seq: 1003, Type: core.EventManagedBlocked, Subject: core.NoticeSubject(agent)},
		}}
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if a.ID == closed || a.ID == agent {
				return core.NotFound("thread", a.ID)
			}
			return nil
		}
	})
	text := r.do("GET", "/api/events", "").text
	if !strings.Contains(text, open) || strings.Contains(text, closed) || strings.Contains(text, agent) {
		t.Error(text)
	}
}

// TestFeed: topics and subjects select; who resumes gets what was public, and then hears of the gap; what is not stored,
// and what was committed before the stream began, is not told twice.
func TestFeed(t *testing.T) {
	of := func(seq uint64, kind core.EventType, subject, group string) core.Event {
		return core.Event{Seq: seq, Type: kind, Subject: subject, Group: group, Data: json.RawMessage(`{"n":1}`)}
	}
	r := newRig(t, func(o *api.Options) {
		o.Feed = &fakeFeed{
			public: []core.Event{of(3, core.EventExecutionStarted, "exec_1", ""), of(5, core.EventPatternCreated, "patterns:a", "")},
			live: []core.Event{
				of(5, core.EventPatternCreated, "patterns:a", ""), // from before
				of(0, core.EventTaskProgress, "exec_1", ""),
				of(1001, core.EventExecutionCompleted, "exec_1", ""),
				of(1002, core.EventTaskCompleted, "exec_1", ""),
				of(1003, core.EventThreadOutput, "thread_1", core.ThreadGroup("exec_1")),
				of(1004, core.EventPublicThreadBlocked, "thread_1", ""),
				of(1005, core.EventSystemAlert, "", ""),
			},
		}
	})
	r.journal.events = []core.Event{{Seq: 1000}}
	told := func(query string, header ...string) string {
		t.Helper()
		p := r.do("GET", "/api/events"+query, "", header...)
		p.wants(t, 200, "")
		var list []string
		for block := range strings.SplitSeq(p.text, "\n\n") {
			var id, kind string
			for line := range strings.SplitSeq(block, "\n") {
				if value, ok := strings.CutPrefix(line, "id: "); ok {
					id = value
				}
				if value, ok := strings.CutPrefix(line, "event: "); ok && value != "event" {
					kind = value
				}
			}
			if id != "" {
				list = append(list, kind+id)
			}
		}
		return strings.Join(list, " ")
	}
	for _, tt := range []struct{ query, header, want string }{
		{"", "", "1001 1004 1005"},
		{"?topics=inbox", "", "1004"},
		{"?topics=threads,health", "", "1004 1005"},
		{"?subjects=exec_1", "", "1001 1002 1003"},
		{"?subjects=thread_1&topics=health", "", "1003 1004 1005"},
		{"", "Last-Event-ID: 2", "3 5 gap1000 1001 1004 1005"},
		{"?topics=patterns&lastEventId=3", "", "5 gap1000"},
		{"?topics=patterns", "Last-Event-ID: 1000", ""},
		{"?topics=patterns", "Last-Event-ID: 7000", "gap1000"},
	} {
		var headers []string
		if tt.header != "" {
			headers = append(headers, tt.header)
		}
		if got := told(tt.query, headers...); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.query, tt.header, got, tt.want)
		}
	}
	r.do("GET", "/api/events?topics=inbux", "").wants(t, 400, core.CodeValidation)
	r.do("GET", "/api/events?subjects="+strings.Repeat("a,", 201), "").wants(t, 400, core.CodeValidation)
}
