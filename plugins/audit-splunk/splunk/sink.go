// Package splunk is an audit sink over Splunk's HTTP Event Collector, with indexer acknowledgement: a record counts as
// durable once the indexers say that they have it.
//
// It owns the channel and the acknowledgements that are awaited, also when the batch comes again before they came. A batch whose
// acknowledgements do not come at all is sent again; events have the record's eventId, by which a search tells doubles.
package splunk

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/audit/remote"
	"github.com/wardroom/wardroom/sdk/plugin"
)

const (
	maxBody = 800 << 10        // of one request; collectors take 1 MB by default, and a proxy before them may take less
	ackWait = 20 * time.Second // in one Write
	ackKeep = 5 * time.Minute  // in all, before the records are sent again; indexers that are busy take minutes
	ackLook = 200 * time.Millisecond
)

const schema = `{
	"type": "object",
	"additionalProperties": false,
	"required": ["host", "token"],
	"properties": {
		"host": {"type": "string", "minLength": 1, "description": "Host name or address of the collector."},
		"port": {"type": "integer", "minimum": 1, "maximum": 65535, "default": 8088},
		"token": {"type": "string", "minLength": 1, "description": "Token of the collector."},
		"index": {"type": "string", "description": "Index that records go to; left out: that of the token."},
		"source": {"type": "string", "default": "wardroom"},
		"sourcetype": {"type": "string", "default": "wardroom:audit"},
		"acknowledge": {"type": "boolean", "default": true, "description": "Wait for indexer acknowledgement, which the token must have enabled. Without it a record counts once the collector took it."},
		"tls": {"type": "boolean", "default": true},
		"caFile": {"type": "string", "description": "PEM file of the authorities of the collector's certificate."}
	}
}`

type config struct {
	Host, Token, Index, Source, Sourcetype, CAFile string
	Port                                           int
	Acknowledge, TLS                               *bool
}

// Definition is the plugin.
func Definition(version string) plugin.Definition {
	return plugin.Definition{
		Name: "audit-splunk", Version: version, Kind: plugin.KindAudit, Schema: []byte(schema),
		Examples: []json.RawMessage{json.RawMessage(`{"host": "splunk.example.com", "token": "00000000-0000-0000-0000-000000000000", "index": "audit"}`)},
		Configure: func(_ context.Context, raw json.RawMessage, _ plugin.Host) (plugin.Service, error) {
			s, err := open(raw)
			if err != nil {
				return plugin.Service{}, err
			}
			return plugin.Service{Audit: s, Close: func(context.Context) error { s.client.Close(); return nil }}, nil
		},
	}
}

// sink sends events.
type sink struct {
	client *remote.Client
	base   string
	header http.Header
	meta   config
	ack    bool
	look   time.Duration
	wait   time.Duration
	keep   time.Duration
	mu     sync.Mutex // guards below; one call at a time
	body   int        // bytes that go into one request; less than maxBody once one was refused as too large since Open
	last   uint64
	ackID  int64 // that the collector gave last on the channel, which counts them; -1: none
	single bool  // each request is acknowledged before the next one, as acknowledgements of the last were lost
	sent   sent
}

// sent are records that the collector took, and the acknowledgements of them that are awaited. The zero value is none.
type sent struct {
	end  uint64            // sequence of the last one
	text [sha256.Size]byte // of it: the sequence may be that of another trail. The hash in it is one of all before
	acks []int64
	lost bool      // the collector counts its acknowledgements anew: those awaited would be taken for others
	at   time.Time // when the first was sent
}

// add notes records that were taken; without an acknowledgement ack is negative.
func (s *sent) add(records []audit.Record, ack int64) {
	if s.end == 0 {
		s.at = time.Now()
	}
	last := records[len(records)-1]
	s.end, s.text = last.Sequence, sha256.Sum256(last.JSON)
	if ack >= 0 {
		s.acks = append(s.acks, ack)
	}
}

// part returns how many records of a batch are among those sent.
func (s *sent) part(batch []audit.Record) int {
	for i, r := range batch {
		if s.end != 0 && r.Sequence == s.end && sha256.Sum256(r.JSON) == s.text {
			return i + 1
		}
	}
	return 0
}

var _ audit.Sink = (*sink)(nil)

func open(raw json.RawMessage) (*sink, error) {
	c := config{Port: 8088, Source: "wardroom", Sourcetype: "wardroom:audit"}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, audit.Errorf(audit.CodeInvalidArgument, "the settings are not of the form that the schema shows")
	}
	client, err := remote.New(remote.Options{CAFile: c.CAFile})
	if err != nil {
		return nil, err
	}
	scheme := "https"
	if c.TLS != nil && !*c.TLS {
		scheme = "http"
	}
	return &sink{
		client: client, base: scheme + "://" + net.JoinHostPort(c.Host, strconv.Itoa(c.Port)) + "/services/collector",
		header: http.Header{
			"Authorization": {"Splunk " + c.Token}, "Content-Type": {"application/json"}, "X-Splunk-Request-Channel": {channel()},
		},
		meta: c, ack: c.Acknowledge == nil || *c.Acknowledge, look: ackLook, wait: ackWait, keep: ackKeep, ackID: -1,
	}, nil
}

// channel makes the id of a channel, a random UUID.
func channel() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // does not fail
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Open implements audit.Sink: it asks whether the collector is there.
func (s *sink) Open(ctx context.Context, from uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.body = from-1, maxBody
	a, err := s.client.Do(ctx, http.MethodGet, s.base+"/health", s.header, nil)
	if err != nil {
		return 0, err
	}
	if a.Status != http.StatusOK {
		return 0, refusal(a)
	}
	return 0, nil
}

// event is one event of the collector.
type event struct {
	Time       json.Number       `json:"time"`
	Source     string            `json:"source"`
	Sourcetype string            `json:"sourcetype"`
	Index      string            `json:"index,omitempty"`
	Event      json.RawMessage   `json:"event"`
	Fields     map[string]string `json:"fields,omitempty"`
}

// Write implements audit.Sink.
func (s *sink) Write(ctx context.Context, batch []audit.Record) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := audit.CheckGaps(batch); err != nil {
		return 0, err
	}
	before := 0
	if time.Since(s.sent.at) < s.keep && !s.sent.lost {
		before = s.sent.part(batch)
	}
	if before == 0 {
		s.sent = sent{}
	}
	all, most := batch, len(batch)
	var doubt remote.Doubt
	for batch = batch[before:]; len(batch) > 0; {
		body, n := s.events(batch[:min(len(batch), most)])
		a, err := s.post(ctx, body)
		if err != nil {
			return s.last, err
		}
		if a.Status == http.StatusRequestEntityTooLarge {
			switch {
			case n > 1:
				s.body = len(body) / 2
				continue
			case remote.Small(batch[0]):
				return s.last, refusal(a)
			}
			return s.split(ctx, batch[:1], remote.Rejection(a.Status, textOf(a.Body)))
		}
		ack, err := s.taken(a)
		if err != nil {
			bad, blame := invalidEvent(a, n)
			switch {
			case bad >= 0:
				return s.split(ctx, batch[:bad+1], audit.Errorf(audit.CodeRejected, "the collector does not take a record: %.200s", textOf(a.Body)))
			case blame && n > 1:
				most = n / 2
				continue
			case blame:
				again, blame := doubt.Again(batch[0].Sequence, func() bool { return s.takes(ctx, all, len(all)-len(batch)) })
				if again {
					continue
				}
				if blame {
					return s.split(ctx, batch[:1], remote.Rejection(a.Status, textOf(a.Body)))
				}
			}
			return s.last, err
		}
		s.sent.add(batch[:n], ack)
		if batch = batch[n:]; s.single {
			if err := s.await(ctx); err != nil {
				return s.last, err
			}
		}
	}
	err := s.await(ctx)
	s.single = s.single && err != nil
	return s.last, err
}

// post sends a request with events. Where no answer comes while acknowledgements are awaited, the collector may have been restarted, and
// have given the number of one of them to this request: they are not asked for any more. mu is held.
func (s *sink) post(ctx context.Context, body []byte) (remote.Answer, error) {
	a, err := s.client.Do(ctx, http.MethodPost, s.base+"/event", s.header, body)
	if err != nil {
		s.doubtAcks()
	}
	return a, err
}

// doubtAcks has records sent again whose acknowledgements are awaited. mu is held.
func (s *sink) doubtAcks() {
	if len(s.sent.acks) > 0 {
		s.sent.lost, s.single = true, true
	}
}

// events makes a request of as many records as go into one, at least one. mu is held.
func (s *sink) events(batch []audit.Record) ([]byte, int) {
	var body bytes.Buffer
	out := json.NewEncoder(&body)
	out.SetEscapeHTML(false) // a record is kept to the byte
	n := 0
	for ; n < len(batch) && (n == 0 || body.Len()+len(batch[n].JSON) < s.body); n++ {
		e := event{
			Time: json.Number(strconv.FormatFloat(float64(batch[n].Time.UnixMilli())/1000, 'f', 3, 64)), Source: s.meta.Source,
			Sourcetype: s.meta.Sourcetype, Index: s.meta.Index, Event: batch[n].JSON,
		}
		if !json.Valid(e.Event) { // as text it is taken
			e.Time, e.Event = "0", quote(batch[n].JSON)
		}
		_ = out.Encode(e) // of texts and JSON it does not fail
	}
	return body.Bytes(), n
}

// takes reports whether a record other than the one at an index is taken now, which shows that it is not everything that is refused:
// one of some behind it, ever further away since those next to it may be refused too, or the one before. It is there twice then. mu is
// held.
func (s *sink) takes(ctx context.Context, batch []audit.Record, at int) bool {
	try := func(i int) bool {
		body, _ := s.events(batch[i : i+1])
		a, err := s.post(ctx, body)
		if err == nil {
			_, err = s.taken(a)
		}
		return err == nil
	}
	for far := 1; at+far < len(batch) && ctx.Err() == nil; far *= 2 {
		if try(at + far) {
			return true
		}
	}
	return at > 0 && try(at-1)
}

// split sends what stands before the last event, and returns the error of that one. mu is held.
func (s *sink) split(ctx context.Context, batch []audit.Record, refused *audit.Error) (uint64, error) {
	if err := s.await(ctx); err != nil { // first: what is written below counts with all before it
		return s.last, err
	}
	s.last = max(s.last, batch[0].Sequence-1)
	if before := batch[:len(batch)-1]; len(before) > 0 {
		s.mu.Unlock()
		last, err := s.Write(ctx, before)
		s.mu.Lock()
		if err != nil {
			return last, err
		}
	}
	return s.last, refused
}

// Codes of the collector.
const (
	codeBadData   = 6
	codeBadIndex  = 7
	codeNoEvent   = 12
	codeBlank     = 13
	codeNoAck     = 14
	codeBadFields = 15
)

const hintAck = "enable indexer acknowledgement for the token, or set acknowledge to false"

// answer is the response of the collector.
type answer struct {
	Text    string `json:"text"`
	Code    *int   `json:"code"`
	AckID   *int64 `json:"ackId"`
	Invalid *int   `json:"invalid-event-number"`
}

// taken reads the answer to a request with events, and returns the acknowledgement to ask for; a negative one for none.
func (s *sink) taken(a remote.Answer) (ack int64, err error) {
	if a.Status != http.StatusOK {
		return -1, refusal(a)
	}
	body, ok := answerOf(a)
	if !ok || *body.Code != 0 {
		return -1, audit.Errorf(audit.CodeUnavailable, "the collector answers with something else")
	}
	switch {
	case !s.ack:
		return -1, nil
	case body.AckID == nil:
		e := audit.Errorf(audit.CodeForbidden, "the collector gives no acknowledgement")
		e.Hint, e.Retry = hintAck, true
		return -1, e
	}
	if *body.AckID <= s.ackID {
		s.doubtAcks()
	}
	if s.ackID = *body.AckID; s.sent.lost {
		return -1, errLost
	}
	return s.ackID, nil
}

// errLost is the end of a Write whose acknowledgements do not come any more.
var errLost = &audit.Error{
	Code: audit.CodeUnavailable, Message: "the collector was restarted before it acknowledged records; they are sent again", Retry: true,
	Hint: "if it was not, the load balancer before several collectors has to send a client to the same one each time",
}

// answerOf reads the answer of a collector; what is none has no code.
func answerOf(a remote.Answer) (body answer, ok bool) {
	err := json.Unmarshal(a.Body, &body)
	return body, err == nil && body.Code != nil
}

// invalidEvent returns the index of the event, of n, that the collector refuses for good, or -1; blame reports whether one of them may be
// the reason. The status 400 is also that of wrong settings; the events are kept then.
func invalidEvent(a remote.Answer, n int) (bad int, blame bool) {
	body, ok := answerOf(a)
	switch {
	case !ok: // it is of something before the collector
		return -1, remote.OfContent(a.Status)
	case a.Status != http.StatusBadRequest:
		return -1, false
	}
	switch *body.Code {
	case codeBadData, codeNoEvent, codeBlank, codeBadFields:
	default:
		return -1, false
	}
	switch {
	case n == 1:
		return 0, true
	case body.Invalid == nil || *body.Invalid < 0 || *body.Invalid >= n:
		return -1, true
	}
	return *body.Invalid, true
}

// await asks until all acknowledgements of what was sent are there, which is durable then. mu is held.
func (s *sink) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	tick := time.NewTicker(s.look)
	defer tick.Stop()
	if s.sent.lost {
		return errLost
	}
	for len(s.sent.acks) > 0 {
		body, err := json.Marshal(map[string]any{"acks": s.sent.acks})
		if err != nil {
			return err
		}
		a, err := s.client.Do(ctx, http.MethodPost, s.base+"/ack", s.header, body)
		if err != nil {
			return err
		}
		if a.Status != http.StatusOK {
			return refusal(a)
		}
		var said struct {
			Acks map[string]bool `json:"acks"`
		}
		if json.Unmarshal(a.Body, &said) != nil {
			return audit.Errorf(audit.CodeUnavailable, "the collector answers with something else")
		}
		var left []int64
		for _, id := range s.sent.acks {
			if !said.Acks[strconv.FormatInt(id, 10)] {
				left = append(left, id)
			}
		}
		if s.sent.acks = left; len(left) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return audit.Errorf(audit.CodeTimeout, "the indexers did not acknowledge in time; they are asked again")
		case <-tick.C:
		}
	}
	s.last = max(s.last, s.sent.end)
	s.sent = sent{}
	return nil
}

// Flush implements audit.Sink: what was written is acknowledged.
func (s *sink) Flush(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, nil
}

func refusal(a remote.Answer) *audit.Error {
	e := remote.Refusal(a.Status, textOf(a.Body))
	said, ok := answerOf(a)
	if a.Status != http.StatusBadRequest || !ok {
		return e
	}
	switch *said.Code {
	case codeBadIndex:
		e.Hint = "check that the index is there, and that the token may write to it"
	case codeNoAck:
		e.Hint = hintAck
	default:
		e.Hint = "check the settings of the token and of the collector"
	}
	return e
}

// textOf returns the reason that the collector gives: one of its fixed texts.
func textOf(body []byte) string {
	var said answer
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	return said.Text
}

func quote(b []byte) json.RawMessage {
	text, _ := json.Marshal(string(b)) // of a text it does not fail
	return text
}
