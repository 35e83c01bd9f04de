// Package cloudwatch is an audit sink over the interface of Amazon CloudWatch Logs.
//
// It owns the log stream, which it makes in a group that is there, and keeps to the limits of batches: size, number, order
// and age of events. It does not own the log group nor its retention. A record that comes again is stored again: its
// eventId tells.
package cloudwatch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/audit/remote"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// Limits of the service for one batch of events.
const (
	maxBatch  = 1_048_576 // bytes, with 26 for each event
	perEvent  = 26
	maxEvents = 10_000
	maxSpan   = 24 * time.Hour
	maxEvent  = 256<<10 - perEvent // of one event; larger ones are cut by some regions and refused by others
	oldest    = 14*24*time.Hour - time.Hour
	newest    = 2*time.Hour - 5*time.Minute
)

const schema = `{
	"type": "object",
	"additionalProperties": false,
	"required": ["logGroup", "region"],
	"properties": {
		"logGroup": {"type": "string", "minLength": 1, "maxLength": 512, "description": "Log group; it must be there."},
		"region": {"type": "string", "pattern": "^[a-z0-9-]+$", "description": "Such as eu-central-1."},
		"logStream": {"type": "string", "default": "wardroom", "pattern": "^[^:*]{1,512}$", "description": "Log stream; it is made if it is not there."},
		"endpoint": {"type": "string", "pattern": "^https?://", "description": "Address of the service, where it is not the usual one of the region."},
		"caFile": {"type": "string", "description": "PEM file of the authorities of the service's certificate."}
	}
}`

type config struct{ LogGroup, Region, LogStream, Endpoint, CAFile string }

// Definition is the plugin.
func Definition(version string) plugin.Definition {
	return plugin.Definition{
		Name: "audit-cloudwatch", Version: version, Kind: plugin.KindAudit, Schema: []byte(schema),
		Examples: []json.RawMessage{json.RawMessage(`{"logGroup": "wardroom", "region": "eu-central-1"}`)},
		Configure: func(_ context.Context, raw json.RawMessage, _ plugin.Host) (plugin.Service, error) {
			s, err := open(raw)
			if err != nil {
				return plugin.Service{}, err
			}
			return plugin.Service{Audit: s, Close: func(context.Context) error {
				s.client.Close()
				s.local.Close()
				return nil
			}}, nil
		},
	}
}

// sink puts events.
type sink struct {
	client  *remote.Client
	local   *remote.Client // for credentials
	config  config
	machine string
	getenv  func(string) string
	now     func() time.Time

	mu      sync.Mutex // guards below; one call at a time
	creds   credentials
	last    uint64
	expired uint64 // sequence up to which records are known to be older than the retention of the group; 0: none is
	stored  stored
}

// stored are the records that the service took behind some that it did not, by their sequence; they come again with those. The sum
// of a record is what one of another trail does not have.
type stored map[uint64][sha256.Size]byte

// add notes records, of one request.
func (s stored) add(records []audit.Record) {
	if len(s) > 2*maxEvents {
		clear(s) // they came again long ago
	}
	for _, r := range records {
		s[r.Sequence] = sha256.Sum256(r.JSON)
	}
}

func (s stored) has(r audit.Record) bool {
	sum, ok := s[r.Sequence]
	return ok && sum == sha256.Sum256(r.JSON)
}

var _ audit.Sink = (*sink)(nil)

func open(raw json.RawMessage) (*sink, error) {
	c := config{LogStream: "wardroom"}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, audit.Errorf(audit.CodeInvalidArgument, "the settings are not of the form that the schema shows")
	}
	if c.Endpoint == "" {
		c.Endpoint = "https://logs." + c.Region + ".amazonaws.com"
		if strings.HasPrefix(c.Region, "cn-") {
			c.Endpoint += ".cn"
		}
	}
	client, err := remote.New(remote.Options{CAFile: c.CAFile})
	if err != nil {
		return nil, err
	}
	// A proxy would see the credentials, or have those of its own machine given.
	local, err := remote.New(remote.Options{Timeout: 5 * time.Second, Direct: true})
	if err != nil {
		return nil, err
	}
	return &sink{client: client, local: local, config: c, machine: machineHost, getenv: os.Getenv, now: time.Now, stored: stored{}}, nil
}

// outcome is how a call was answered.
type outcome struct {
	status int    // 0: not at all
	kind   string // type of the error that the service names; empty where it is a proxy or firewall that refuses
}

// ofEvents reports whether the events that were sent may be the reason of a refusal. The status 413 is of a proxy.
func (o outcome) ofEvents() bool {
	return o.kind == "InvalidParameterException" || o.tooLarge() || o.blocked()
}

func (o outcome) tooLarge() bool { return o.status == http.StatusRequestEntityTooLarge }

func (o outcome) blocked() bool { return o.kind == "" && remote.OfContent(o.status) }

// call makes one call; the answer is decoded into out, unless that is nil. mu is held.
func (s *sink) call(ctx context.Context, operation string, in, out any) (o outcome, err error) {
	if s.creds, err = s.credentialsOf(ctx, s.creds); err != nil {
		return o, err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return o, err
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"Logs_20140328." + operation}}
	if err := s.creds.sign(header, s.config.Endpoint, s.config.Region, "logs", body, s.now()); err != nil {
		return o, audit.Errorf(audit.CodeInvalidArgument, "the address of the service is wrong")
	}
	a, err := s.client.Do(ctx, http.MethodPost, s.config.Endpoint, header, body)
	if err != nil {
		return o, err
	}
	o.status = a.Status
	if a.Status == http.StatusOK {
		if out != nil && json.Unmarshal(a.Body, out) != nil {
			return o, audit.Errorf(audit.CodeUnavailable, "the service answers with something else")
		}
		return o, nil
	}
	var said struct {
		Type string `json:"__type"`
	}
	_ = json.Unmarshal(a.Body, &said) // else there is no reason
	o.kind = said.Type[strings.LastIndexByte(said.Type, '#')+1:]
	switch o.kind {
	case "ThrottlingException", "LimitExceededException", "ServiceUnavailableException":
		return o, audit.Errorf(audit.CodeUnavailable, "the service asks to wait (%s)", o.kind)
	case "UnrecognizedClientException", "AccessDeniedException", "InvalidSignatureException", "ExpiredTokenException":
		s.creds = credentials{} // they may have been changed
		e := audit.Errorf(audit.CodeForbidden, "the service refuses the credential (%s)", o.kind)
		e.Retry = true
		return o, e
	}
	return o, remote.Refusal(a.Status, o.kind)
}

// Open implements audit.Sink: it makes the log stream.
func (s *sink) Open(ctx context.Context, from uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.expired = from-1, 0
	o, err := s.call(ctx, "CreateLogStream", map[string]string{"logGroupName": s.config.LogGroup, "logStreamName": s.config.LogStream}, nil)
	if o.kind == "ResourceAlreadyExistsException" {
		err = nil
	}
	return 0, err
}

// inputEvent is an event as the service takes it.
type inputEvent struct {
	Timestamp int64  `json:"timestamp"`
	Message   string `json:"message"`
}

// Write implements audit.Sink.
func (s *sink) Write(ctx context.Context, batch []audit.Record) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := audit.CheckGaps(batch); err != nil {
		return 0, err
	}
	all, most := batch, maxEvents
	var doubt remote.Doubt
	for len(batch) > 0 {
		switch {
		case s.stored.has(batch[0]):
			s.last = batch[0].Sequence
			batch = batch[1:]
			continue
		case len(batch[0].JSON) > maxEvent:
			s.last = batch[0].Sequence - 1
			return s.last, audit.Errorf(audit.CodeRejected, "a record is larger than the service takes")
		case batch[0].Sequence <= s.expired:
			return s.rejectExpired(batch[0])
		}
		events, n := s.events(batch[:min(len(batch), most)])
		refused, o, err := s.put(ctx, events)
		if err != nil {
			switch {
			case !o.ofEvents():
				return s.last, err
			case n > 1: // it does not name the event that it does not take
				most = n / 2
				continue
			case o.tooLarge() && remote.Small(batch[0]):
				return s.last, err
			case o.blocked():
				again, blame := doubt.Again(batch[0].Sequence, func() bool { return s.takes(ctx, all, len(all)-len(batch)) })
				if again {
					continue
				}
				if !blame {
					return s.last, err
				}
			}
			s.last = batch[0].Sequence - 1
			return s.last, remote.Rejection(o.status, o.kind)
		}
		// Part of the events may be refused for their times in an answer of success. An expired one is older than the
		// retention of the group, which is an operator's choice.
		expired, from, to := refused.bounds(n)
		if from == 0 && to > 0 {
			s.last = batch[to-1].Sequence
		} else {
			s.stored.add(batch[from:to])
		}
		switch {
		case from > expired, to < n && expired == 0:
			e := audit.Errorf(audit.CodeUnavailable, "the service does not take events of these times")
			e.Hint = "compare the clock of this machine with the real time"
			return s.last, e
		case expired > 0:
			s.expired = batch[expired-1].Sequence
			return s.rejectExpired(batch[0])
		}
		s.last = batch[n-1].Sequence
		batch = batch[n:]
	}
	return s.last, nil
}

// put sends events, and returns those that the service does not take for their times. mu is held.
func (s *sink) put(ctx context.Context, events []inputEvent) (r refused, o outcome, err error) {
	var said struct {
		Rejected refused `json:"rejectedLogEventsInfo"`
	}
	o, err = s.call(ctx, "PutLogEvents", map[string]any{
		"logGroupName": s.config.LogGroup, "logStreamName": s.config.LogStream, "logEvents": events,
	}, &said)
	return said.Rejected, o, err
}

// takes reports whether a record other than the one at an index is taken now, which shows that it is not everything that is refused:
// one of some behind it, ever further away since those next to it may be refused too, or the one before, which is there twice then.
// mu is held.
func (s *sink) takes(ctx context.Context, batch []audit.Record, at int) bool {
	try := func(i int) bool {
		one := batch[i : i+1]
		events, _ := s.events(one)
		refused, _, err := s.put(ctx, events)
		if expired, from, to := refused.bounds(1); err == nil && expired == 0 && from < to && i > at {
			s.stored.add(one)
		}
		return err == nil
	}
	for far := 1; at+far < len(batch) && ctx.Err() == nil; far *= 2 {
		if !s.stored.has(batch[at+far]) && try(at+far) { // what is stored already would be there twice
			return true
		}
	}
	return at > 0 && try(at-1)
}

// refused are the events of a request that the service does not take for their times. They stand at its ends.
type refused struct {
	TooNew  *int `json:"tooNewLogEventStartIndex"`
	TooOld  *int `json:"tooOldLogEventEndIndex"`
	Expired *int `json:"expiredLogEventEndIndex"`
}

// bounds returns how many of n events are expired, and the first and the end of those that the service took.
func (r *refused) bounds(n int) (expired, from, to int) {
	if r.Expired != nil {
		expired = min(max(*r.Expired, 1), n)
	}
	from, to = expired, n
	if r.TooOld != nil {
		from = max(from, min(max(*r.TooOld, 1), n))
	}
	if r.TooNew != nil {
		to = max(from, min(*r.TooNew, n))
	}
	return expired, from, to
}

// rejectExpired is the end of a Write at a record that is older than the retention of the log group. mu is held.
func (s *sink) rejectExpired(r audit.Record) (uint64, error) {
	s.last = r.Sequence - 1
	return s.last, audit.Errorf(audit.CodeRejected, "a record is older than the retention of the log group")
}

// events makes the events of as many records as one batch takes, at least one, and up to one that is stored. Their times rise, and are of the days that
// the service takes: that of the record stands in it.
func (s *sink) events(batch []audit.Record) (events []inputEvent, n int) {
	now := s.now()
	size := 0
	var first, previous int64
	for _, r := range batch {
		at := r.Time
		if at.Before(now.Add(-oldest)) {
			at = now.Add(-oldest)
		}
		if at.After(now.Add(newest)) {
			at = now.Add(newest)
		}
		stamp := max(at.UnixMilli(), previous)
		if n == 0 {
			first = stamp
		}
		size += len(r.JSON) + perEvent
		if n > 0 && (s.stored.has(r) || size > maxBatch || n == maxEvents || len(r.JSON) > maxEvent || stamp-first >= maxSpan.Milliseconds()) {
			break
		}
		events = append(events, inputEvent{stamp, string(r.JSON)})
		previous = stamp
		n++
	}
	return events, n
}

// Flush implements audit.Sink: what the service took is durable.
func (s *sink) Flush(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, nil
}
