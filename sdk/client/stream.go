package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// Types of the events of an execution's stream.
const (
	EventStarted       = "started"
	EventAgentResult   = "agent_result"
	EventAgentProgress = "agent_progress" // live only: has no id and is not repeated after a resume
	EventStepCompleted = "step_completed"
	EventCompleted     = "completed" // the last event, like the two below
	EventFailed        = "failed"
	EventCancelled     = "cancelled"
)

// Types of the events that streams of org charts have beyond those.
const (
	EventStepStarted      = "step_started"
	EventRoleBound        = "role_bound"    // an agent serves a role from now on
	EventRoleReleased     = "role_released" // it does no more
	EventMessageSent      = "message_sent"  // an agent asked or told another role
	EventMessageEscalated = "message_escalated"
	EventMessageReplied   = "message_replied"
	EventMessageClosed    = "message_closed" // it needs no answer any more; a question of it is cancelled
	EventQuestionAsked    = "question_asked" // its data is a Question
	EventQuestionAnswered = "question_answered"
	EventQuestionExpired  = "question_expired"
)

// Last reports whether the event ends its execution's stream.
func (e Event) Last() bool {
	return e.Type == EventCompleted || e.Type == EventFailed || e.Type == EventCancelled
}

// EventData is the data of an event of an execution's stream; each type fills its own fields.
type EventData struct {
	ExecutionID string          `json:"executionId"`
	Status      string          `json:"status"`
	AgentID     string          `json:"agentId"`
	Step        string          `json:"step"`
	Result      json.RawMessage `json:"result"`
	Confidence  *float64        `json:"confidence"`
	Error       *ExecutionError `json:"error"`
	Reason      string          `json:"reason"`
	Text        string          `json:"text"`
	Data        json.RawMessage `json:"data"`

	// Of org charts.
	Type        string          `json:"type"` // kind of the step
	Name        string          `json:"name"`
	Round       int             `json:"round"`  // from 1 when the step is run again
	Branch      string          `json:"branch"` // that a condition took
	Partial     bool            `json:"partial"`
	Role        string          `json:"role"`
	AgentName   string          `json:"agentName"`
	AgentType   string          `json:"agentType"`
	Managed     bool            `json:"managed"` // the agent was spawned for the role
	MessageID   string          `json:"messageId"`
	MessageType string          `json:"messageType"`
	Topic       string          `json:"topic"`
	From        string          `json:"from"` // role that replied, or user
	To          string          `json:"to"`   // role that is asked
	Depth       int             `json:"depth"`
	Content     json.RawMessage `json:"content"`
	QuestionID  string          `json:"questionId"`
	Answer      json.RawMessage `json:"answer"`
	AnsweredBy  string          `json:"answeredBy"`
}

// dataOf reads the data of an event.
func dataOf[T any](e Event) (*T, error) {
	out := new(T)
	if err := json.Unmarshal(e.Data, out); err != nil {
		return nil, fmt.Errorf("data of a %s event: %w", e.Type, err)
	}
	return out, nil
}

// Question reads the data of an event EventQuestionAsked.
func (e Event) Question() (*Question, error) {
	return dataOf[Question](e)
}

// Decode reads the data of an event of an execution's stream.
func (e Event) Decode() (EventData, error) {
	var d EventData
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return EventData{}, fmt.Errorf("data of a %s event: %w", e.Type, err)
	}
	return d, nil
}

// lived is how long a connection must have held to count as good, so that the next loss starts a new count.
const lived = 10 * time.Second

// Stream is the events of one execution, managed agent or set of threads, in order, each once. It comes back by itself
// after a lost connection or a restart of the server, for as long as Options.StreamRetry allows. It is not safe for
// concurrent use, except Close.
type Stream struct {
	c      *Client
	ctx    context.Context // of the whole stream; ended by Close
	cancel context.CancelFunc

	open request // the first request; sent again while the execution's id is unknown
	body []byte  // of open
	id   string  // of the execution; empty until known
	last string  // id of the last event handed out
	err  error   // once over

	conn    io.Closer // nil while there is no connection
	reader  *EventReader
	since   time.Time     // when conn was made
	lostAt  time.Time     // when the present outage began; zero while there is none
	lastErr error         // of the present outage
	failed  int           // tries of the present outage
	hint    time.Duration // the server's wish for the pause before the first try of an outage
	resumed int
	outage  func(err error) // or nil
	told    bool            // outage was called with an error since the stream came back last
}

// ExecuteStream runs a pattern and streams its events. NO_AGENTS comes back as an error before the first
// event. Closing the stream does not cancel the execution. Without an IdempotencyKey in the request a
// fresh one is used, so that a connection lost before the first event never starts a second execution.
func (c *Client) ExecuteStream(ctx context.Context, req ExecuteRequest) (*Stream, error) {
	if req.IdempotencyKey == "" {
		req.IdempotencyKey = NewIdempotencyKey()
	}
	return c.stream(ctx, req.request("/stream"), "", "")
}

// WatchExecution streams the events of an execution, running or finished. after is the id of the last
// event already seen, or empty for all. When that was the last one of all, the stream is empty.
func (c *Client) WatchExecution(ctx context.Context, id, after string) (*Stream, error) {
	return c.stream(ctx, watchRequest(id), id, after)
}

func watchRequest(id string) request {
	return request{method: http.MethodGet, path: executionPath(id) + "/stream"}
}

func (c *Client) stream(ctx context.Context, open request, id, after string) (*Stream, error) {
	body, err := encode(open.body)
	if err != nil {
		return nil, err
	}
	s := &Stream{c: c, open: open, body: body, id: id, last: after}
	s.ctx, s.cancel = context.WithCancel(ctx)
	if err := c.retry(s.ctx, true, s.connect); err != nil {
		s.cancel()
		return nil, err
	}
	return s, nil
}

// ExecutionID returns the id of the execution; of ExecuteStream it is empty until the server named it.
func (s *Stream) ExecutionID() string { return s.id }

// LastEventID returns the id of the last event handed out, for a later WatchExecution.
func (s *Stream) LastEventID() string { return s.last }

// Resumed returns how often the stream came back after a lost connection.
func (s *Stream) Resumed() int { return s.resumed }

// OnOutage has f called by Next when the stream cannot come back at the first try, with the reason, and with nil once it is back.
// It goes before the first Next.
func (s *Stream) OnOutage(f func(err error)) { s.outage = f }

// Close ends the stream and frees its connection. The execution goes on. Safe to call twice.
func (s *Stream) Close() {
	s.cancel()
}

// Next returns the next event; io.EOF after the last one (see Event.Last), else what ended the stream.
func (s *Stream) Next() (Event, error) {
	for s.err == nil {
		if s.reader == nil {
			if err := s.resume(); err != nil {
				s.finish(err)
			}
			continue
		}
		event, err := s.reader.Next()
		if err != nil {
			s.lost(err)
			continue
		}
		if s.seen(event) {
			continue
		}
		if event.ID != "" { // else it may be no more than a greeting, which each connection begins with
			s.last = event.ID
			s.lostAt, s.failed = time.Time{}, 0
		}
		if event.Type == EventStarted && s.id == "" {
			if data, err := event.Decode(); err == nil {
				s.id = data.ExecutionID
			}
		}
		if event.Last() {
			s.finish(io.EOF)
		}
		return event, nil
	}
	return Event{}, s.err
}

// Events yields the events until the last one, or an error. It closes the stream.
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer s.Close()
		for {
			event, err := s.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// seen reports whether the event was handed out before: ids are rising numbers, unless a gap says where they go on.
func (s *Stream) seen(event Event) bool {
	if event.ID == "" || s.last == "" || event.Type == EventGap {
		return false
	}
	if event.Type == EventConnected {
		return s.resumed > 0
	}
	id, err1 := strconv.ParseUint(event.ID, 10, 64)
	last, err2 := strconv.ParseUint(s.last, 10, 64)
	return err1 == nil && err2 == nil && id <= last
}

// connect makes one try to open the connection.
func (s *Stream) connect() error {
	r := s.open
	body := s.body
	if s.id != "" {
		r, body = watchRequest(s.id), nil
	}
	r.accept = "text/event-stream"
	r.header = http.Header{"Cache-Control": {"no-cache"}}
	if s.last != "" {
		r.header.Set("Last-Event-ID", s.last)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	idle := s.c.opts.StreamIdle
	timer := time.AfterFunc(idle, cancel)
	if s.since.IsZero() {
		timer.Stop() // what the first request starts may take its time
	}
	resp, err := s.c.send(ctx, r, body)
	if err != nil {
		if ctx.Err() != nil && s.ctx.Err() == nil {
			err = &ConnectionError{Server: s.c.BaseURL(), Sent: true, Err: fmt.Errorf("no answer within %s", idle)}
		}
		timer.Stop()
		cancel()
		return err
	}
	if resp.StatusCode == http.StatusNoContent { // over, and nothing happened after the given event
		timer.Stop()
		cancel()
		_ = resp.Body.Close()
		s.finish(io.EOF)
		return nil
	}
	if err := checkStream(resp); err != nil {
		data, _ := s.c.read(ctx, resp)
		timer.Stop()
		cancel()
		if resp.StatusCode != http.StatusOK {
			return newError(resp, data)
		}
		return err
	}
	timer.Stop() // the body starts it anew
	watched := &watchedBody{body: resp.Body, idle: idle, cancel: cancel, timer: timer}
	s.conn, s.reader, s.since = watched, NewEventReader(watched, 0), s.c.opts.Now()
	if id := resp.Header.Get("X-Execution-Id"); s.id == "" && id != "" {
		s.id = id
	}
	return nil
}

func checkStream(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		return fmt.Errorf("the server answered %d %q instead of an event stream", resp.StatusCode, kind)
	}
	return nil
}

// lost notes that the connection ended before the last event.
func (s *Stream) lost(err error) {
	now := s.c.opts.Now()
	if s.lostAt.IsZero() || now.Sub(s.since) >= lived {
		s.lostAt, s.failed = now, 0
	}
	s.lastErr = s.c.connectionError(s.ctx, err)
	s.drop()
	if errors.Is(err, ErrEventTooLarge) {
		s.finish(err)
	}
}

// resume makes a new connection, with pauses, until the policy's time is over.
func (s *Stream) resume() error {
	policy := s.c.opts.StreamRetry
	for {
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		s.failed++
		pause := max(policy.pause(s.failed), s.wait())
		if s.c.opts.Now().Add(pause).Sub(s.lostAt) > policy.MaxElapsed {
			return fmt.Errorf("gave up on the stream: %w", s.lastErr)
		}
		if err := s.c.opts.Sleep(s.ctx, pause); err != nil {
			return err
		}
		err := s.connect()
		if err == nil {
			s.resumed++
			s.tellOutage(nil)
			return nil
		}
		if !retryable(err, true) {
			return err
		}
		s.lastErr = err
		s.tellOutage(err)
	}
}

// tellOutage passes the beginning and the end of an outage on, each once.
func (s *Stream) tellOutage(err error) {
	if s.outage == nil || s.told == (err != nil) {
		return
	}
	s.told = err != nil
	s.outage(err)
}

// wait is the server's wish for the pause before the next try: the stream's own `retry:` field for the
// first one of an outage, afterwards what a refusal asked for.
func (s *Stream) wait() time.Duration {
	if s.failed == 1 {
		return s.hint
	}
	var e *Error
	if errors.As(s.lastErr, &e) {
		return e.RetryAfter
	}
	return 0
}

func (s *Stream) drop() {
	if s.conn != nil {
		s.hint = s.reader.Wait()
		_ = s.conn.Close() // it is read no more; nothing depends on how it ends
		s.conn, s.reader = nil, nil
	}
}

func (s *Stream) finish(err error) {
	if s.err != nil {
		return
	}
	s.drop()
	s.cancel()
	s.err = err
}

// watchedBody ends a connection on which nothing came for idle. Time in which nobody reads does not count: what came lies
// there.
type watchedBody struct {
	body   io.ReadCloser
	idle   time.Duration
	timer  *time.Timer
	cancel context.CancelFunc
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.idle)
	defer b.timer.Stop()
	return b.body.Read(p)
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	b.cancel()
	return b.body.Close()
}
