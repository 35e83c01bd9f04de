package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
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
			if id != "" || kind == "replayed" {
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
		{"", "Last-Event-ID: 2", "3 5 gap1000 replayed 1001 1004 1005"},
		{"?topics=patterns&lastEventId=3", "", "5 gap1000 replayed"},
		{"?topics=patterns", "Last-Event-ID: 1000", "replayed"},
		{"?topics=executions", "Last-Event-ID: 1000", "replayed 1001"},
		{"?topics=patterns", "Last-Event-ID: 7000", "gap1000 replayed"},
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

// busyFeed has live events that come at once; then time passes, and it ends.
type busyFeed struct {
	fakeFeed
	pass func() // lets half a second pass
}

func (f *busyFeed) Live() core.EventStream { return &busyStream{listed{f.live}, f.pass} }

type busyStream struct {
	listed
	pass func()
}

func (s *busyStream) Next(ctx context.Context) (core.Event, error) {
	if len(s.events) > 0 || s.pass == nil {
		return s.listed.Next(ctx)
	}
	s.pass()
	s.pass = nil
	if err := ctx.Err(); err != nil {
		return core.Event{}, err
	}
	return s.listed.Next(ctx)
}

// TestFeedRate: a reader with a rate gets so many events of executions, all that people wait for and all of its subjects; of the
// others it hears before what comes behind them, and after half a second at the latest.
func TestFeedRate(t *testing.T) {
	feed := &busyFeed{}
	for seq := uint64(1001); seq <= 1100; seq++ {
		ev := core.Event{Seq: seq, Type: core.EventExecutionCompleted, Subject: "exec_other", Data: json.RawMessage(`{}`)}
		switch seq {
		case 1050:
			ev.Type, ev.Subject = core.EventQuestionAsked, "exec_asks"
		case 1060:
			ev.Subject = "exec_mine"
		case 1070:
			ev.Subject = "exec_hidden"
		}
		feed.live = append(feed.live, ev)
	}
	for seq := uint64(1); seq <= 900; seq++ {
		feed.public = append(feed.public, core.Event{Seq: seq, Type: core.EventExecutionCompleted, Subject: "exec_other", Data: json.RawMessage(`{}`)})
	}
	r := newRig(t, func(o *api.Options) {
		o.Feed = feed
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if a.ID == "exec_hidden" {
				return core.NotFound("execution", a.ID)
			}
			return nil
		}
	})
	feed.pass = func() { r.clock.Advance(500 * time.Millisecond) }
	told := func(query string, header ...string) (list []string) {
		t.Helper()
		p := r.do("GET", "/api/events"+query, "", header...)
		p.wants(t, 200, "")
		for block := range strings.SplitSeq(p.text, "\n\n") {
			fields := map[string]string{}
			for line := range strings.SplitSeq(block, "\n") {
				name, value, _ := strings.Cut(line, ": ")
				fields[name] = value
			}
			switch id := fields["id"]; fields["event"] {
			case "event":
				list = append(list, id)
			case "skipped":
				var d wire.FeedSkipped
				if err := json.Unmarshal([]byte(fields["data"]), &d); err != nil || strconv.FormatUint(d.To, 10) != id || !slices.Equal(d.Topics, []string{"executions"}) {
					t.Errorf("%s: %v", block, err)
				}
				list = append(list, fmt.Sprintf("skipped%d-%s", d.Count, id))
			case "gap":
				list = append(list, "gap"+id)
			}
		}
		return list
	}
	if got, want := strings.Join(told("?rate=8&topics=executions,inbox&subjects=exec_mine"), " "), "1001 1002 1003 1004 skipped45-1049 1050 skipped9-1059 1060 skipped39-1100"; got != want {
		t.Errorf("told %s\nwant %s", got, want)
	}
	if got := len(told("?topics=executions,inbox")); got != 99 {
		t.Errorf("without a rate %d events are told, not 99", got)
	}
	if got := strings.Join(told("?rate=4&topics=patterns,executions", "Last-Event-ID: 1")[:3], " "); !strings.HasPrefix(got, "2 3 gap") {
		t.Errorf("told of the past %s, not two events and a gap", got)
	}
	for _, bad := range []string{"0", "10001", "x"} {
		r.do("GET", "/api/events?rate="+bad, "").wants(t, 400, core.CodeValidation)
	}
}

// fakeCounts is a core.CountFeed of fixed numbers that counts its followers.
type fakeCounts struct {
	now            core.OverviewCounts
	followed, left atomic.Int64
}

func (f *fakeCounts) FollowCounts(context.Context) (*core.OverviewCounts, func(), error) {
	f.followed.Add(1)
	now := f.now
	return &now, func() { f.left.Add(1) }, nil
}

// frames splits a stream into frames of the form "NAME data".
func frames(text string) (list []string) {
	for block := range strings.SplitSeq(text, "\n\n") {
		var name, data string
		for line := range strings.SplitSeq(block, "\n") {
			if value, ok := strings.CutPrefix(line, "event: "); ok {
				name = value
			}
			if value, ok := strings.CutPrefix(line, "data: "); ok {
				data = value
			}
		}
		if name != "" {
			list = append(list, name+" "+data)
		}
	}
	return list
}

// TestFeedNoticesAndCounts: changes that are not stored come without a place in the order, to those who may read what they are about; the
// numbers come first and as they change, to those who name their topic and may read them.
func TestFeedNoticesAndCounts(t *testing.T) {
	counts := &fakeCounts{now: core.OverviewCounts{At: epoch, Executions: map[string]int{"running": 1}}}
	later := core.OverviewCounts{At: epoch.Add(time.Second), Executions: map[string]int{"running": 2}}
	event := func(of core.OverviewCounts) core.Event {
		data, _ := json.Marshal(of)
		return core.Event{Type: core.EventCounts, Time: of.At, Data: data}
	}
	before := counts.now
	before.At = epoch.Add(-time.Second)
	var refused string
	r := newRig(t, func(o *api.Options) {
		o.Counts = counts
		o.Feed = &fakeFeed{live: []core.Event{
			event(before),
			{Type: core.EventBatchProgress, Subject: "batch_1", Time: epoch, Data: json.RawMessage(`{"total":3}`)},
			{Type: core.EventTaskProgress, Subject: "exec_1"},
			{Type: core.EventWebhookDeliveries, Subject: "wh_1", Time: epoch},
			{Type: core.EventPluginChanged, Subject: "local", Time: epoch},
			{Seq: 1001, Type: core.EventBatchCompleted, Subject: "batch_1", Time: epoch},
			{Seq: 1002, Type: core.EventWebhookDisabled, Subject: "wh_1", Time: epoch},
			event(later),
		}}
		o.ReadsAll = func(context.Context, core.Principal, api.Access) bool { return true }
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if a.Action == refused || a.ID == refused && a.ID != "" {
				return core.Forbidden(a.Action, a.Scope, "no")
			}
			return nil
		}
	})
	r.journal.events = []core.Event{{Seq: 1000}}
	told := func(query string, header ...string) string {
		t.Helper()
		p := r.do("GET", "/api/events"+query, "", header...)
		p.wants(t, 200, "")
		var list []string
		for _, frame := range frames(p.text) {
			name, data, _ := strings.Cut(frame, " ")
			var d struct {
				Type, Subject, Reason string
				Topics                []string
				Sequence              uint64
				Executions            map[string]int
			}
			if err := json.Unmarshal([]byte(data), &d); err != nil {
				t.Fatal(err, frame)
			}
			switch name {
			case "counts":
				list = append(list, fmt.Sprint("counts", d.Executions["running"]))
			case "gap":
				list = append(list, "gap:"+d.Reason+":"+strings.Join(d.Topics, "+"))
			case "replayed":
				list = append(list, strings.ReplaceAll(frame, " ", ":"))
			default:
				list = append(list, d.Type)
			}
			if name == "notice" && (d.Sequence != 0 || d.Subject == "" || len(d.Topics) != 1) {
				t.Errorf("notice %s", data)
			}
		}
		return strings.Join(list, " ")
	}
	const all = "batch.progress webhook.deliveries plugin.changed batch.completed webhook.disabled"
	for _, tt := range []struct{ query, refused, header, want string }{
		{"", "", "", all},
		{"?topics=counts", "", "", "counts1 counts2"},
		{"?topics=counts&rate=5", "", "", "counts1 counts2"},
		{"?topics=counts,batches", "", "", "counts1 batch.progress batch.completed counts2"},
		{"?topics=counts,batches", "executions.read", "", ""},
		{"?topics=webhooks,plugins", "webhooks.read", "", "plugin.changed"},
		{"?topics=webhooks,plugins", "plugins.read", "", "webhook.deliveries webhook.disabled"},
		{"?topics=batches,webhooks", "batch_1", "", "webhook.deliveries webhook.disabled"},
		{"?subjects=wh_1", "", "", "webhook.deliveries webhook.disabled"},
		{"?topics=executions", "", "Last-Event-ID: 1000", `replayed:{"to":1000}`},
		{"?topics=counts", "", "Last-Event-ID: 1000", `counts1 replayed:{"to":1000} counts2`},
		{"?topics=batches,executions,plugins", "", "Last-Event-ID: 1000", `gap:unstored:batches+plugins replayed:{"to":1000} batch.progress plugin.changed batch.completed`},
		{"?topics=batches", "", "Last-Event-ID: 7", `gap:unlogged: replayed:{"to":1000} batch.progress batch.completed`},
	} {
		refused = tt.refused
		var headers []string
		if tt.header != "" {
			headers = append(headers, tt.header)
		}
		if got := told(tt.query, headers...); got != tt.want {
			t.Errorf("%s %s refused %q: %s, want %s", tt.query, tt.header, tt.refused, got, tt.want)
		}
	}
	if f, l := counts.followed.Load(), counts.left.Load(); f != 4 || l != 4 {
		t.Errorf("%d began to follow the numbers and %d left; only those who want and may read them do", f, l)
	}
}

// narrowFeed has the numbers of everything change again and again, with time passing between.
type narrowFeed struct {
	fakeFeed
	steps []func() *core.Event
}

func (f *narrowFeed) Live() core.EventStream { return &narrowStream{f.steps} }

type narrowStream struct{ steps []func() *core.Event }

func (s *narrowStream) Next(ctx context.Context) (core.Event, error) {
	for len(s.steps) > 0 {
		step := s.steps[0]
		s.steps = s.steps[1:]
		if ev := step(); ev != nil {
			return *ev, nil
		}
		if err := ctx.Err(); err != nil {
			return core.Event{}, err
		}
	}
	return core.Event{}, io.EOF
}

func (s *narrowStream) Close() {}

// TestFeedCountsNarrowed: who may read some of it gets the numbers of that, when everything's changed, and every five seconds at most.
func TestFeedCountsNarrowed(t *testing.T) {
	counts := &fakeCounts{now: core.OverviewCounts{At: epoch, Executions: map[string]int{"running": 9, "failed": 0}, Waiting: core.OverviewCounts{}.Waiting}}
	feed := &narrowFeed{}
	r := newRig(t, func(o *api.Options) {
		o.Counts, o.Feed = counts, feed
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if a.ID == "exec_hidden" {
				return core.NotFound("execution", a.ID)
			}
			return nil
		}
	})
	stored := []*core.Execution{someExecution("exec_hidden", core.ExecutionRunning), someExecution(execID, core.ExecutionRunning)}
	reads := 0
	r.executions.findAll = func(core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
		reads++
		return stored, core.PageInfo{Total: len(stored)}, nil
	}
	changed := func() *core.Event {
		now := counts.now
		now.At = r.clock.Now()
		data, _ := json.Marshal(now)
		return &core.Event{Type: core.EventCounts, Time: r.clock.Now(), Data: data}
	}
	pass := func(d time.Duration) func() *core.Event {
		return func() *core.Event { r.clock.Advance(d); return nil }
	}
	counts.now.At = r.clock.Now()
	fail := func() *core.Event {
		stored = []*core.Execution{stored[0], someExecution(execID, core.ExecutionFailed)}
		return nil
	}
	feed.steps = []func() *core.Event{changed, fail, changed, changed, pass(time.Second), changed, pass(4 * time.Second), pass(time.Second), changed, pass(5 * time.Second)}
	p := r.do("GET", "/api/events?topics=counts", "")
	p.wants(t, 200, "")
	var got []string
	for _, frame := range frames(p.text) {
		var d core.OverviewCounts
		name, data, _ := strings.Cut(frame, " ")
		if err := json.Unmarshal([]byte(data), &d); err != nil || name != "counts" || !d.Partial {
			t.Fatal(err, frame)
		}
		got = append(got, fmt.Sprintf("%d+%d", d.Executions["running"], d.Executions["failed"]))
	}
	if want := "1+0 0+1"; strings.Join(got, " ") != want {
		t.Errorf("counted %s, want %s", strings.Join(got, " "), want)
	}
	if reads != 3 { // at the beginning, and twice five seconds later
		t.Errorf("what may be read was counted %d times, not 3", reads)
	}
}

// waitingFeed has no events.
type waitingFeed struct{ fakeFeed }

func (*waitingFeed) Live() core.EventStream { return waitingStream{} }

// TestFeedCountsWithdrawn: a stream with the numbers is over once its caller may not read them any more.
func TestFeedCountsWithdrawn(t *testing.T) {
	var revision atomic.Uint64
	revision.Store(1)
	counts := &fakeCounts{now: core.OverviewCounts{At: epoch}}
	r := newRig(t, func(o *api.Options) {
		o.Counts, o.Feed = counts, &waitingFeed{}
		o.ReadsAll = func(context.Context, core.Principal, api.Access) bool { return true }
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if a.Action == "executions.read" && revision.Load() > 1 {
				return core.Forbidden(a.Action, a.Scope, "no")
			}
			return nil
		}
		o.Refresh = func(_ context.Context, p core.Principal) (core.Principal, error) { return p, nil }
		o.Revision = revision.Load
	})
	req, err := http.NewRequestWithContext(t.Context(), "GET", r.http.URL+"/api/events?topics=counts", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && lines.Text() != "event: counts" {
	}
	if lines.Text() != "event: counts" {
		t.Fatalf("it ended before the numbers: %v", lines.Err())
	}
	r.server.Recheck(t.Context())
	revision.Store(2)
	r.server.Recheck(t.Context())
	if _, err := io.Copy(io.Discard, resp.Body); err != nil { // until it is over
		t.Error(err)
	}
	coretest.WaitFor(t, "the end of following the numbers", func() bool { return counts.left.Load() == 1 })
}

// A stream of all events ends once its caller's credential is good for less: what it shows goes by the scopes of its beginning.
func TestFeedOfLessScopes(t *testing.T) {
	scopes, revision := atomic.Pointer[[]string]{}, atomic.Uint64{}
	scopes.Store(&[]string{core.ScopeAdmin})
	ended := &withdrawnStreams{}
	r := newRig(t, func(o *api.Options) {
		o.Metrics = ended
		o.Feed = &waitingFeed{}
		o.Authorize = func(context.Context, core.Principal, api.Access) error { return nil }
		o.Authenticate = func(*http.Request) (core.Principal, error) {
			return core.Principal{Kind: core.PrincipalUser, ID: "ann", Scopes: *scopes.Load()}, nil
		}
		o.Refresh = func(_ context.Context, p core.Principal) (core.Principal, error) {
			p.Scopes = *scopes.Load()
			return p, nil
		}
		o.Revision = revision.Load
	})
	open := func() <-chan error {
		req, err := http.NewRequestWithContext(t.Context(), "GET", r.http.URL+"/api/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v %v", resp, err)
		}
		over := make(chan error, 1)
		go func() {
			defer resp.Body.Close()
			_, err := io.Copy(io.Discard, resp.Body)
			over <- err
		}()
		return over
	}
	recheck := func(now ...string) {
		scopes.Store(&now)
		revision.Add(1)
		r.server.Recheck(t.Context())
	}
	former := open()
	recheck(core.ScopeRead)
	select {
	case err := <-former:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the stream of a former administrator goes on")
	}
	open()
	recheck(core.ScopeAdmin) // more than before
	if n := ended.Load(); n != 1 {
		t.Errorf("%d streams were ended, want that of the former administrator alone", n)
	}
}

// withdrawnStreams counts the streams that were ended because their callers may not have them any more.
type withdrawnStreams struct {
	openStreams
	atomic.Int32
}

func (w *withdrawnStreams) StreamDropped(reason string) {
	if reason == "access" {
		w.Add(1)
	}
}
