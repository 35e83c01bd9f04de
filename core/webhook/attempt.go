package webhook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/webhook/target"
)

// result is what came of one attempt.
type result struct {
	ok      bool
	code    int // 0: no answer came
	began   time.Time
	took    time.Duration
	hung    bool          // no answer in time
	why     string        // it failed
	text    string        // the beginning of the answer
	after   time.Duration // that the receiver asked to wait
	aborted bool          // it says nothing about the endpoint: we stop, or the endpoint is gone, or the store failed
	final   bool          // no attempt makes sense any more
}

// plan holds what one attempt needs.
type plan struct {
	rec       *core.WebhookRecord
	secrets   []secret
	transport http.RoundTripper
	err       error
}

// planOf takes what an attempt needs from an endpoint. mu is held.
func (s *Service) planOf(ep *endpoint) plan {
	p := plan{rec: ep.rec, secrets: ep.secrets, err: ep.broken}
	if p.err == nil && ep.transport == nil {
		ep.transport, p.err = s.newTransport(ep.rec)
	}
	p.transport = ep.transport
	return p
}

func (s *Service) newTransport(rec *core.WebhookRecord) (http.RoundTripper, error) {
	key, err := s.openKey(rec.ID, rec.SealedKey)
	if err != nil {
		return nil, err
	}
	return s.opts.Transport(s.config.Load(), target.TLS{Certificate: rec.ClientCert, Key: key, CA: rec.CA})
}

// attempt makes one attempt for a delivery, and hands on what came of it.
func (s *Service) attempt(j *job) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.mu.Lock()
	p := s.planOf(j.ep)
	j.cancel = cancel
	gone := j.ep.gone
	s.mu.Unlock()
	r := result{began: s.clock.Now()}
	switch retries := p.rec.Retries; {
	case gone:
		r.aborted = true
	case j.d.Attempts > retries:
		r.final, r.why = true, "no attempt is left: the last one was cut short by a restart, or retries was lowered"
		if j.d.LastError != "" {
			r.why = j.d.LastError
		}
	case j.d.Attempts > 0 && j.d.Attempts == retries:
		r.aborted = s.claim(ctx, j) != nil
	}
	counts := !r.aborted && !r.final
	if counts {
		r = s.send(ctx, p, j.d)
	}
	s.ended(j, &r, counts)
}

// claim stores that the last attempt of a delivery begins, so that no restart adds another one. The first attempt is
// not claimed even where it is the last: it would be lost with a crash.
func (s *Service) claim(ctx context.Context, j *job) error {
	done := make(chan error, 1)
	s.mu.Lock()
	j.claimed = done
	s.write(&outcome{job: j, kind: claimed})
	s.mu.Unlock()
	select {
	case err := <-done:
		s.mu.Lock()
		j.claimed, j.started = nil, s.clock.Now()
		s.mu.Unlock()
		return err
	case <-ctx.Done():
		s.mu.Lock()
		s.write(&outcome{job: j, kind: postponed}) // as it was, behind the claim
		s.mu.Unlock()
		return ctx.Err()
	}
}

// send makes the request of one attempt. It is over when the answer's headers are there and its body was read as far as
// we keep it, at the latest a short time later: the status counts, whatever the body does.
func (s *Service) send(ctx context.Context, p plan, d *core.Delivery) (r result) {
	r.began = s.clock.Now()
	defer func() { r.took = max(0, s.clock.Now().Sub(r.began)) }()
	if p.err != nil {
		r.why = core.AsError(p.err).Message
		return r
	}
	body, err := s.body(ctx, d)
	if err != nil {
		r.final = core.ErrorCode(err) == core.CodeNotFound
		r.aborted = ctx.Err() != nil || core.AsError(err).Unavailable
		r.why = "the event cannot be read"
		if r.final {
			r.why = "the event is not stored any more"
		}
		return r
	}
	secrets, headers, err := s.resolve(ctx, p, r.began)
	if err != nil {
		r.aborted, r.why = ctx.Err() != nil, core.AsError(err).Message
		return r
	}
	timeout := time.Duration(p.rec.TimeoutMs) * time.Millisecond
	inTime, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(inTime, http.MethodPost, p.rec.URL, bytes.NewReader(body))
	if err != nil {
		r.why = "the url cannot be used: " + err.Error()
		return r
	}
	req.Header = requestHeader(headers, secrets, d, body, "Wardroom/"+s.opts.Version, r.began)
	defer s.trace(req.Header, d, &r)()
	resp, err := p.transport.RoundTrip(req)
	if err != nil {
		r.aborted = ctx.Err() != nil
		r.hung = !r.aborted && inTime.Err() != nil
		r.why = sendError(err, r.hung, timeout)
		return r
	}
	r.code = resp.StatusCode
	r.ok = r.code >= 200 && r.code <= 299
	r.after = retryAfter(r.code, resp.Header, r.began)
	r.final = r.code == http.StatusGone
	r.why = statusError(resp)
	cut := s.clock.AfterFunc(bodyTime, cancel)
	defer cut.Stop()
	read, _ := io.ReadAll(io.LimitReader(resp.Body, readBytes)) // what came before it was cut is kept
	if len(read) == readBytes {
		cancel() // the rest is not waited for, and the connection not used again
	}
	resp.Body.Close()
	text := withoutHidden(string(read), p.rec.Headers, headers, secrets, p.rec.Declared)
	r.text = clip.Text(strings.ToValidUTF8(text[:min(len(text), keepBytes)], "\uFFFD"), keepBytes)
	r.why = withoutHidden(r.why, p.rec.Headers, headers, secrets, p.rec.Declared)
	return r
}

// headerTraceparent is that of W3C Trace Context.
const headerTraceparent = "Traceparent"

// trace names the place of an attempt in the trace of what its event is about, unless the endpoint has a header of that
// name. What it returns tells of the attempt once that is over.
func (s *Service) trace(h http.Header, d *core.Delivery, r *result) func() {
	parent := s.opts.Tracer.Recall(d.Subject)
	if parent.IsZero() {
		return func() {}
	}
	own := s.opts.Tracer.Begin(parent)
	if h.Get(headerTraceparent) == "" {
		h.Set(headerTraceparent, own.String())
	}
	return func() {
		span := core.Span{
			Trace: own, Parent: parent.SpanID, Name: "webhook delivery", Kind: core.SpanClient, Start: r.began, End: s.clock.Now(),
			Attributes: []core.SpanAttribute{
				{Key: "wardroom.webhook.id", Text: d.WebhookID}, {Key: "wardroom.delivery.id", Text: d.ID},
				{Key: "wardroom.event.type", Text: string(d.Event)}, {Key: "wardroom.attempt", Number: int64(d.Attempts + 1)},
				{Key: "http.response.status_code", Number: int64(r.code)},
			},
		}
		switch {
		case r.ok:
		case r.hung:
			span.Failed = string(core.CodeTimeout)
		case r.code != 0:
			span.Failed = strconv.Itoa(r.code)
		default:
			span.Failed = "no_answer"
		}
		s.opts.Tracer.Record(span)
	}
}

// resolve returns the texts that sign a request, and the headers of the endpoint, with secrets in place of references: each
// attempt is made with those of its moment.
func (s *Service) resolve(ctx context.Context, p plan, now time.Time) (texts []string, headers map[string]string, err error) {
	texts, headers = signing(p.secrets, now), p.rec.Headers
	source := s.opts.Secrets
	if p.rec.Declared {
		source = s.opts.DeclaredSecrets
	}
	if source == nil {
		return texts, headers, nil
	}
	for i, text := range texts {
		if texts[i], err = source.SecretText(ctx, text); err != nil {
			return nil, nil, err
		}
		if texts[i] == "" {
			return nil, nil, core.Errorf(core.CodeValidation, "the secret of the endpoint is empty: %s refers to nothing", clip.Text(text, maxFilterText))
		}
	}
	copied := false
	for name, text := range headers {
		value, err := source.SecretText(ctx, text)
		switch {
		case err != nil:
			return nil, nil, err
		case value == text:
			continue
		case !httpguts.ValidHeaderFieldValue(value):
			return nil, nil, core.Errorf(core.CodeValidation, "the secret of the header %s holds what no header can hold", name)
		case !copied:
			headers, copied = maps.Clone(headers), true
		}
		headers[name] = value
	}
	return texts, headers, nil
}

func statusError(resp *http.Response) string {
	switch code := resp.StatusCode; {
	case code >= 200 && code <= 299:
		return ""
	case code >= 300 && code <= 399:
		why := fmt.Sprintf("answered %d: redirects are not followed; give the endpoint its final url", code)
		if to := resp.Header.Get("Location"); to != "" {
			why += " (it points to " + clip.Text(strings.ToValidUTF8(to, ""), keepError/2) + ")"
		}
		return why
	case code == http.StatusGone:
		return "answered 410: the receiver says that it is gone"
	default:
		return fmt.Sprintf("answered %d", code)
	}
}

// sendError says why no answer came.
func sendError(err error, hung bool, timeout time.Duration) string {
	var refusal *target.Refusal
	var dns *net.DNSError
	switch {
	case errors.As(err, &refusal):
		return clip.Text("the target is refused: "+refusal.Error(), keepError)
	case hung:
		return fmt.Sprintf("no answer within %d ms", timeout.Milliseconds())
	case errors.As(err, &dns) && dns.IsNotFound:
		return clip.Text("the host "+dns.Name+" is not known", keepError)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed without an answer"
	}
	return clip.Text("no answer: "+strings.ToValidUTF8(err.Error(), ""), keepError)
}

// ended makes the next state of a delivery of what came of an attempt, and lets others begin.
func (s *Service) ended(j *job, r *result, counts bool) {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished(j)
	ep := j.ep
	switch {
	case r.aborted || ep.gone:
		ep.drop(j.d.ID)
		ep.marked, ep.read = true, place{} // it is still there
		s.wakeAt(ep, now.Add(firstRetry))
	default:
		if counts {
			s.judge(ep, r)
			s.opts.Observer.AttemptEnded(r.code, r.ok, r.took)
		}
		d := *j.d
		s.settle(&d, ep.rec, r, counts, now)
		j.d = &d
		if d.Status == core.DeliveryPending {
			ep.hold(&d)
		}
		s.write(&outcome{job: j, kind: attempted, result: *r, counts: counts, at: now})
	}
	s.list(ep)
	s.dispatch()
}

// settle gives a delivery the state that follows from an attempt.
func (s *Service) settle(d *core.Delivery, rec *core.WebhookRecord, r *result, counts bool, now time.Time) {
	if counts {
		if d.Timestamp != nil {
			former := append(slices.Clone(d.Former), core.DeliveryAttempt{At: *d.Timestamp, StatusCode: d.StatusCode, DurationMs: d.DurationMs, Error: d.LastError})
			d.Former = former[max(0, len(former)-core.MaxFormerAttempts):]
		}
		began := r.began
		d.Attempts++
		d.Timestamp = &began
		d.FirstAt = cmp.Or(d.FirstAt, &began)
		d.StatusCode, d.DurationMs, d.ResponseBody = r.code, r.took.Milliseconds(), r.text
	}
	d.LastError, d.NextAt = r.why, nil
	switch {
	case r.ok:
		d.Status = core.DeliverySucceeded
	case r.final || d.Test || d.Attempts > rec.Retries:
		d.Status = core.DeliveryFailed
	default:
		d.Status = core.DeliveryPending
		next := now.Add(wait(d.Attempts, r.after, s.opts.Jitter()))
		d.NextAt = &next
	}
}
