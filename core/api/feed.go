package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Feed is what happens anywhere.
type Feed interface {
	// Live returns the events of all subjects from now on. A reader that falls behind is cut off.
	Live() core.EventStream
	// Log returns up to limit public events of all subjects with Seq > after, in order. core.Store has it.
	Log(ctx context.Context, after uint64, limit int) (page []core.Event, more bool, err error)
}

// maxFeedSubjects bounds the ids that one stream follows.
const maxFeedSubjects = 200

// What readers of topics need.
var (
	readExecutions = Access{Action: "executions.read", Resource: "executions", Scope: core.ScopeExecutionsRead}
	readAgents     = Access{Action: "agents.read", Resource: "agents", Scope: core.ScopeAgentsRead}
	readPatterns   = Access{Action: "patterns.read", Resource: "patterns", Scope: core.ScopePatternsRead}
	readSchedules  = Access{Action: "schedules.read", Resource: "schedules", Scope: core.ScopeExecutionsRead}
	readTriggers   = Access{Action: "triggers.read", Resource: "triggers", Scope: core.ScopeExecutionsRead}
	readWebhooks   = Access{Action: "webhooks.read", Resource: "webhooks", Scope: core.ScopeAdmin}
	readPlugins    = Access{Action: "plugins.read", Resource: "plugins", Scope: core.ScopeAdmin}
	readHealth     = Access{Action: "health.read", Resource: "health", Scope: core.ScopeAdmin}
)

// feedTopics are the topics of the stream of all events, each with what belongs to it.
var feedTopics = []struct {
	name string
	has  func(t core.EventType) bool
	need Access // what a reader of it needs, but for the id
}{
	{topicCounts, func(t core.EventType) bool { return t == core.EventCounts }, readExecutions},
	{"executions", func(t core.EventType) bool { return strings.HasPrefix(string(t), "execution.") }, readExecutions},
	{"batches", func(t core.EventType) bool { return strings.HasPrefix(string(t), "batch.") }, readExecutions},
	{"inbox", func(t core.EventType) bool {
		return strings.HasPrefix(string(t), "question.") || t == core.EventPublicThreadBlocked || t == core.EventThreadBlocked ||
			t == core.EventManagedBlocked || t == core.EventManagedQuestion || t == core.EventManagedUnblocked || t == core.EventManagedLogin
	}, readExecutions},
	{"threads", func(t core.EventType) bool {
		return strings.HasPrefix(string(t), "thread_") && t != core.EventThreadOutput || strings.HasPrefix(string(t), "thread.")
	}, Access{Action: "threads.read", Resource: "threads", Scope: core.ScopeExecutionsRead}},
	{"agents", func(t core.EventType) bool {
		return strings.HasPrefix(string(t), "agent.") || strings.HasPrefix(string(t), "managed_agent.") && t != core.EventManagedMessage
	}, readAgents},
	{"patterns", func(t core.EventType) bool { return strings.HasPrefix(string(t), "pattern.") }, readPatterns},
	{"schedules", func(t core.EventType) bool { return strings.HasPrefix(string(t), "schedule.") }, readSchedules},
	{"triggers", func(t core.EventType) bool { return strings.HasPrefix(string(t), "trigger.") }, readTriggers},
	{"webhooks", func(t core.EventType) bool { return strings.HasPrefix(string(t), "webhook.") }, readWebhooks},
	{"plugins", func(t core.EventType) bool { return strings.HasPrefix(string(t), "plugin.") }, readPlugins},
	{"health", func(t core.EventType) bool { return t == core.EventSystemAlert }, readHealth},
}

// topicCounts is the topic of the numbers of the overview. Only those who name it have it.
const topicCounts = "counts"

// noticeTopics are the topics to which notices belong.
var noticeTopics = []string{"batches", "webhooks", "plugins"}

func feedTopicNames() []string {
	names := make([]string, len(feedTopics))
	for i, t := range feedTopics {
		names[i] = t.name
	}
	return names
}

// topicsOf returns the topics of a type of events; none for what only its subject's followers get.
func topicsOf(t core.EventType) []string {
	var names []string
	for _, topic := range feedTopics {
		if topic.has(t) {
			names = append(names, topic.name)
		}
	}
	return names
}

func (s *Server) feedRoutes() []Route {
	return []Route{{
		Method: http.MethodGet, Path: "/api/events", OperationID: "streamEvents",
		Summary: "Follow what happens anywhere, as server-sent events.", Tag: "events",
		Description: "Each event is `event: event` with data {sequence, type, subject, timestamp, topics, data} and the sequence as its id. " +
			"A reader that comes back with Last-Event-ID gets the public events that it missed, those that webhooks deliver, and then " +
			"`event: gap` {from, to, reason}: of other events some may be missing between the two, so what is shown is to be read anew. " +
			"Where the past ends for a reader that comes back, whether it missed something or not, is `event: replayed` {to}, without an id; what follows is live. " +
			"What agents say is told to those who name its thread or agent in subjects only. " +
			"Each event goes to those who may read what it is about. " +
			"Changes that are stored as no event come as `event: notice` with data {type, subject, timestamp, topics, data} and without an id: " +
			"batch.progress, webhook.deliveries (some were made, attempted or ended) and plugin.changed, of each subject at most two a second, the newest of which stands for those before it. " +
			"A reader that comes back, and has topics of notices, gets an `event: gap` for them even if it missed no event (reason unstored, with their topics). " +
			"With the topic counts `event: counts` has what GET /api/overview counts by state, in the same form: at the beginning, and then when it changed, at most twice a second; " +
			"every five seconds at most for those from whom something is hidden.",
		Resource: "events", Action: "events.read", Scope: core.ScopeAny,
		Query: []Param{
			{Name: "topics", Type: ParamList, Doc: "Comma-separated: " + strings.Join(feedTopicNames(), ", ") +
				". Default: all of them but counts, unless subjects are given."},
			{Name: "subjects", Type: ParamList, Doc: "Comma-separated ids of executions, threads, agents: everything that happens to them. " +
				"200 at most."},
			{Name: "lastEventId", Type: ParamInteger, Default: "0", Doc: "Resume after this event id; the header Last-Event-ID wins."},
			{Name: "rate", Type: ParamInteger, Min: 1, Max: maxFeedRate, Doc: "At most about so many events of executions a second, but for those of subjects. " +
				"Of those that are left out `event: skipped` {topics, count, to} tells at most each half second. Default: all."},
		},
		Responses: []Response{{Status: 200, Body: "", ContentType: "text/event-stream", Doc: "Events event, notice, gap and replayed; with the topic counts counts; with rate skipped."}},
		Resumes:   true, Stream: s.streamFeed,
	}}
}

// feedFilter selects the events that a reader of the stream of all events gets.
type feedFilter struct {
	topics, subjects []string
	past             bool // the events are of the log: what they are about may be gone
}

func (c *call) feedFilter() (feedFilter, error) {
	f := feedFilter{topics: c.query.list("topics"), subjects: c.query.list("subjects")}
	for _, name := range f.topics {
		if names := feedTopicNames(); !slices.Contains(names, name) {
			return f, core.Invalid("topics", "knows no %q%s", schema.Clip(name), schema.Hint("", schema.Clip(name), names))
		}
	}
	if len(f.subjects) > maxFeedSubjects {
		return f, core.Invalid("subjects", "has %d ids; at most %d are allowed", len(f.subjects), maxFeedSubjects)
	}
	if len(f.topics) == 0 && len(f.subjects) == 0 {
		f.topics = slices.DeleteFunc(feedTopicNames(), func(name string) bool { return name == topicCounts })
	}
	return f, nil
}

// wants reports whether the reader gets an event of these topics.
func (f feedFilter) wants(ev *core.Event, topics []string) bool {
	if slices.ContainsFunc(topics, func(name string) bool { return slices.Contains(f.topics, name) }) {
		return true
	}
	return slices.ContainsFunc(f.subjects, func(id string) bool {
		return ev.Subject == id || ev.Group != "" && ev.Group == core.ThreadGroup(id)
	})
}

// mayRead reports whether the caller may read an event: what one of its topics needs, for its subject. What belongs to no
// topic is what agents say, and read like their thread or themselves.
func (c *call) mayRead(ev *core.Event) bool {
	if c.s.opts.Authorize == nil {
		return true
	}
	if ev.Type == core.EventExecutionDeleted {
		return c.mayReadDeleted(ev)
	}
	subject := cmp.Or(core.NoticeOf(ev.Subject), ev.Subject)
	asked := false
	for _, t := range feedTopics {
		if !t.has(ev.Type) {
			continue
		}
		asked = true
		need := t.need
		if strings.HasPrefix(string(ev.Type), "managed_agent.") {
			need = readAgents
		}
		need.ID = subject
		if c.s.opts.Authorize(c.ctx, c.principal, need) == nil {
			return true
		}
	}
	if asked {
		return false
	}
	need := readAgents
	if core.ValidID(core.PrefixThread, subject) || core.ValidID(core.PrefixExecution, subject) {
		need = readExecutions
	}
	need.ID = subject
	return c.s.opts.Authorize(c.ctx, c.principal, need) == nil
}

// mayReadDeleted reports whether the caller may know that an execution was deleted: it goes by its pattern, as nothing else
// is left of it.
func (c *call) mayReadDeleted(ev *core.Event) bool {
	var data struct {
		Pattern core.PatternRef `json:"pattern"`
	}
	if json.Unmarshal(ev.Data, &data) != nil {
		return false
	}
	need := readExecutions
	need.Pattern = data.Pattern.Name
	return c.s.opts.Authorize(c.ctx, c.principal, need) == nil
}

// mayReadOrphan reports whether the caller may read an event whose execution, if it is of one, is gone: it is for those who
// may read everything, as it is not known any more who else may.
func (c *call) mayReadOrphan(ev *core.Event) bool {
	if c.s.opts.Authorize == nil || ev.Type == core.EventExecutionDeleted || !core.ValidID(core.PrefixExecution, ev.Subject) {
		return true
	}
	if _, err := c.s.opts.Executions.FindExecution(c.ctx, ev.Subject); core.ErrorCode(err) != core.CodeNotFound {
		return true
	}
	return c.s.opts.Authorize(c.ctx, c.principal, readHealth) == nil
}

// frame makes the frame of an event, or nil for one that the reader does not want or may not read. What is not stored has no place in
// the order: it is shown if it is a notice, or of the numbers.
func (f feedFilter) frame(c *call, ev core.Event) []byte {
	stored := ev.Seq > 0
	if !stored && !ev.Type.Notice() && ev.Type != core.EventCounts {
		return nil
	}
	topics := topicsOf(ev.Type)
	if !f.wants(&ev, topics) || !c.mayRead(&ev) || f.past && !c.mayReadOrphan(&ev) {
		return nil
	}
	if topics == nil {
		topics = []string{}
	}
	switch {
	case ev.Type == core.EventCounts:
		return frameOf("counts", 0, ev.Data)
	case !stored:
		return frameOf("notice", 0, appendValue(nil, wire.FeedNotice{
			Type: string(ev.Type), Subject: ev.Subject, Timestamp: ev.Time, Topics: topics, Data: rawOr(ev.Data, "{}"),
		}))
	}
	return frameOf("event", ev.Seq, appendValue(nil, wire.FeedEvent{
		Sequence: ev.Seq, Type: string(ev.Type), Subject: ev.Subject, Timestamp: ev.Time, Topics: topics, Data: rawOr(ev.Data, "{}"), Principal: ev.By,
	}))
}

// Reasons of a gap in the stream of all events, beside gapFuture.
const (
	gapUnlogged = "unlogged" // events that are not in the public log
	gapUnstored = "unstored" // notices
)

// streamFeed follows what happens anywhere.
func (s *Server) streamFeed(c *call) error {
	filter, err := c.feedFilter()
	if err != nil {
		return err
	}
	header, one := single(c.r.Header, "Last-Event-Id")
	resumed := header != "" || !one || c.query.given("lastEventId")
	after := uint64(0)
	if resumed {
		if after, err = c.lastEventID(); err != nil {
			return err
		}
	}
	if isHead(c.w.Header()) {
		streamHeaders(c.w.Header())
		c.w.WriteHeader(http.StatusOK)
		return nil
	}
	if s.opts.Feed == nil {
		return core.Unavailable("starting", "the events of all are not there yet; try again")
	}
	r, err := s.streams.enter(c.config)
	if err != nil {
		return err
	}
	defer r.leave()
	live := s.opts.Feed.Live()
	defer live.Close()
	counts, err := s.followCounts(c, &filter, live)
	if err != nil {
		return err
	}
	defer counts.leave()
	head := s.opts.Journal.LastSeq() // what is committed behind it comes live
	w := newFrameWriter(c)
	defer w.close()
	w.begin(c.id)
	frame := func(ev core.Event) []byte {
		if ev.Seq <= head && ev.Seq > 0 {
			return nil
		}
		return filter.frame(c, ev)
	}
	stream := live
	if counts != nil {
		stream = counts
		if frame := filter.frame(c, counts.first); frame != nil && !w.write(frame) {
			return nil
		}
	}
	var rated *ratedFeed
	if c.query.given("rate") {
		rated = newRatedFeed(stream, s.opts.Clock, int(c.query.integer("rate")), filter, frame)
	}
	if resumed && !s.replayFeed(c, r, w, filter, after, head, rated) {
		return nil
	}
	if rated != nil {
		s.pump(c, r, rated, w, rated.render)
		return nil
	}
	s.pump(c, r, stream, w, frame)
	return nil
}

// feedPage is how many events of the log are read at a time.
const feedPage = 256

// replayFeed writes the public events behind after, up to head, that others may be missing, and that this was the past; of a reader
// with a rate no more events of executions than it takes in a pause. Heartbeats come meanwhile: a long log may have little for the
// reader. It returns false when the stream is to end.
func (s *Server) replayFeed(c *call, r *reader, w *frameWriter, filter feedFilter, after, head uint64, rated *ratedFeed) bool {
	filter.past = true
	told := 0
	gap := &streamGap{from: after, to: head, reason: gapUnlogged}
	if after > head {
		gap.reason = gapFuture
	}
	for at := after; at < head; {
		events, more, err := s.opts.Feed.Log(c.ctx, at, feedPage)
		if err != nil {
			if c.ctx.Err() == nil {
				s.log.Error("stream broke off", "request", c.id, "error", err)
			}
			w.write(commentEnd)
			return false
		}
		for _, ev := range events {
			if at = ev.Seq; at > head {
				break
			}
			if rated != nil && rated.mayLeave(&ev) {
				if told >= rated.most {
					continue
				}
				told++
			}
			if frame := filter.frame(c, ev); frame != nil && !w.write(frame) {
				s.opts.Metrics.StreamDropped("write")
				return false
			}
		}
		if !more {
			break
		}
		if s.streams.draining() {
			s.opts.Metrics.StreamDropped("shutdown")
			w.write(commentEnd)
			return false
		}
		if r.take() && !w.write(commentHeartbeat) { // its age counts when it has an id to go on from: see pump
			s.opts.Metrics.StreamDropped("write")
			return false
		}
	}
	var end []byte
	if after == head {
		gap.reason, gap.topics = gapUnstored, filter.noticed()
	}
	if after != head || len(gap.topics) > 0 {
		end = gap.frame()
	}
	return w.write(append(end, frameOf("replayed", 0, fmt.Appendf(nil, `{"to":%d}`, head))...))
}

// noticed returns the topics of the reader to which notices belong.
func (f feedFilter) noticed() []string {
	return slices.DeleteFunc(slices.Clone(noticeTopics), func(name string) bool { return !slices.Contains(f.topics, name) })
}
