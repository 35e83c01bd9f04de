// Package otlptest is a collector of traces for tests: strict about what OTLP over HTTP asks for, it keeps what it is sent.
//
// It owns the decoding of requests and the wait for spans. It does not know what spans mean; tests of core/tracing and of
// appliance read them.
package otlptest

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Receiver takes spans. Methods are safe for concurrent use.
type Receiver struct {
	URL string

	server  *httptest.Server
	mu      sync.Mutex // guards all below
	spans   []*trace.Span
	raw     bytes.Buffer
	headers []http.Header
	service map[string]string
	wrong   []string
	arrived chan struct{} // closed and made anew with each request
}

// New starts a receiver that ends with the test, which fails where a request was not as OTLP has it.
func New(tb testing.TB) *Receiver {
	tb.Helper()
	r := &Receiver{service: map[string]string{}, arrived: make(chan struct{})}
	r.server = httptest.NewServer(r)
	r.URL = r.server.URL
	tb.Cleanup(func() {
		r.server.Close()
		for _, why := range r.wrong {
			tb.Errorf("a request to the collector: %s", why)
		}
	})
	return r
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := r.read(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.wrong = append(r.wrong, err.Error())
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.headers = append(r.headers, req.Header)
	for _, rs := range body.ResourceSpans {
		for _, a := range rs.Resource.GetAttributes() {
			r.service[a.Key] = a.Value.GetStringValue()
		}
		for _, ss := range rs.ScopeSpans {
			r.spans = append(r.spans, ss.Spans...)
		}
	}
	close(r.arrived)
	r.arrived = make(chan struct{})
	answer, _ := proto.Marshal(&collector.ExportTraceServiceResponse{})
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer)
}

// read decodes a request and checks what OTLP says of it.
func (r *Receiver) read(req *http.Request) (*collector.ExportTraceServiceRequest, error) {
	switch {
	case req.Method != http.MethodPost || req.URL.Path != "/v1/traces":
		return nil, fmt.Errorf("%s %s, want POST /v1/traces", req.Method, req.URL.Path)
	case req.Header.Get("Content-Type") != "application/x-protobuf":
		return nil, fmt.Errorf("content type %q", req.Header.Get("Content-Type"))
	case req.Header.Get("Content-Encoding") != "gzip":
		return nil, fmt.Errorf("content encoding %q", req.Header.Get("Content-Encoding"))
	}
	unzipped, err := gzip.NewReader(req.Body)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(unzipped)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.raw.Write(data)
	r.mu.Unlock()
	var body collector.ExportTraceServiceRequest
	if err := (proto.UnmarshalOptions{}).Unmarshal(data, &body); err != nil {
		return nil, err
	}
	for _, rs := range body.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				if err := check(s); err != nil {
					return nil, err
				}
			}
		}
	}
	return &body, nil
}

func check(s *trace.Span) error {
	keys := map[string]bool{}
	for _, a := range s.Attributes {
		if a.Key == "" || keys[a.Key] || a.Value.GetValue() == nil {
			return fmt.Errorf("span %q: attribute %q is empty or there twice", s.Name, a.Key)
		}
		keys[a.Key] = true
	}
	switch {
	case len(s.TraceId) != 16 || bytes.Equal(s.TraceId, make([]byte, 16)):
		return fmt.Errorf("span %q: trace id %x", s.Name, s.TraceId)
	case len(s.SpanId) != 8 || bytes.Equal(s.SpanId, make([]byte, 8)):
		return fmt.Errorf("span %q: span id %x", s.Name, s.SpanId)
	case len(s.ParentSpanId) != 0 && len(s.ParentSpanId) != 8:
		return fmt.Errorf("span %q: parent %x", s.Name, s.ParentSpanId)
	case s.Name == "" || s.StartTimeUnixNano == 0 || s.EndTimeUnixNano < s.StartTimeUnixNano:
		return fmt.Errorf("span %q: from %d to %d", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano)
	}
	return nil
}

// Span is a span as tests read it.
type Span struct {
	Trace, ID, Parent, Name string // ids in hex
	Failed                  bool
	Attributes              map[string]string
}

// Spans returns all spans so far.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Span, 0, len(r.spans))
	for _, s := range r.spans {
		one := Span{
			Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId),
			Name: s.Name, Failed: s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR, Attributes: map[string]string{},
		}
		for _, a := range s.Attributes {
			if one.Attributes[a.Key] = a.Value.GetStringValue(); one.Attributes[a.Key] == "" {
				one.Attributes[a.Key] = fmt.Sprint(a.Value.GetIntValue())
			}
		}
		list = append(list, one)
	}
	return list
}

// Raw returns the decompressed bytes of all requests.
func (r *Receiver) Raw() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.raw.Bytes())
}

// Header returns a header of the newest request.
func (r *Receiver) Header(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.headers) == 0 {
		return ""
	}
	return r.headers[len(r.headers)-1].Get(name)
}

// Resource returns an attribute of what sends the spans.
func (r *Receiver) Resource(key string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.service[key]
}

// Wait returns the spans once enough says that they are all there, and fails the test after half a minute.
func (r *Receiver) Wait(tb testing.TB, enough func([]Span) bool) []Span {
	tb.Helper()
	late := time.After(30 * time.Second)
	for {
		r.mu.Lock()
		arrived := r.arrived
		r.mu.Unlock()
		spans := r.Spans()
		if enough(spans) {
			return spans
		}
		select {
		case <-arrived:
		case <-late:
			tb.Fatalf("the spans did not come; there are %+v", spans)
		}
	}
}
