package tracing_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/tracing"
	"github.com/wardroom/wardroom/core/tracing/otlptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counts is an Observer.
type counts struct{ exported, full, failed atomic.Int64 }

func (c *counts) SpansExported(n int) { c.exported.Add(int64(n)) }

func (c *counts) SpansDropped(n int, reason string) {
	if reason == tracing.DroppedQueueFull {
		c.full.Add(int64(n))
	} else {
		c.failed.Add(int64(n))
	}
}

func open(t *testing.T, c tracing.Config) (*tracing.Service, *counts) {
	t.Helper()
	seen := &counts{}
	s := tracing.New(tracing.Options{Logger: hclog.NewNullLogger(), Observer: seen, Version: "1.2.3", Instance: "one"})
	if err := s.ApplyConfig(c); err != nil {
		t.Fatal(err)
	}
	return s, seen
}

func end(s *tracing.Service, within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	s.Close(ctx)
}

func span(t core.TraceContext, name string) core.Span {
	at := time.Unix(1_700_000_000, 0)
	return core.Span{Trace: t, Name: name, Start: at, End: at.Add(time.Second)}
}

func TestExport(t *testing.T) {
	r := otlptest.New(t)
	s, seen := open(t, tracing.Config{Enabled: true, Endpoint: r.URL, Ratio: 1, Headers: map[string]string{"X-Token": "abc"}})
	root := s.Begin(core.TraceContext{})
	child := root.Child("task")
	work := span(child, "child")
	work.Parent, work.Failed = root.SpanID, "AGENT_ERROR"
	work.Attributes = []core.SpanAttribute{{Key: "n", Number: 3}, {Key: "long", Text: strings.Repeat("ä", 1000)}}
	s.Record(span(root, "root"))
	s.Record(work)
	end(s, 10*time.Second)
	spans := r.Spans()
	if len(spans) != 2 || seen.exported.Load() != 2 {
		t.Fatalf("%d spans, %d counted: %+v", len(spans), seen.exported.Load(), spans)
	}
	for _, got := range spans {
		switch {
		case got.Name == "root" && (got.Parent != "" || got.Failed):
			t.Errorf("the root is %+v", got)
		case got.Name == "child" && (fmt.Sprintf("%x", root.SpanID) != got.Parent || fmt.Sprintf("%x", child.SpanID) != got.ID ||
			!got.Failed || got.Attributes["error.type"] != "AGENT_ERROR" || got.Attributes["n"] != "3" || len(got.Attributes["long"]) != 256):
			t.Errorf("the child is %+v", got)
		}
	}
	if got := r.Header("X-Token") + r.Resource("service.name") + r.Resource("service.version"); got != "abcwardroom1.2.3" {
		t.Errorf("header and resource are %q", got)
	}
}

func TestOff(t *testing.T) {
	s, seen := open(t, tracing.Config{})
	parent := core.ParseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if got := s.Begin(parent); !got.IsZero() {
		t.Errorf("a trace begins while tracing is off: %v", got)
	}
	s.Record(span(parent, "x"))
	s.Remember("x", parent)
	if got := s.Recall("x"); !got.IsZero() || seen.full.Load() != 0 {
		t.Errorf("remembered while off: %v", got)
	}
	end(s, time.Second)
}

func TestSampling(t *testing.T) {
	r := otlptest.New(t)
	s, _ := open(t, tracing.Config{Enabled: true, Endpoint: r.URL, Ratio: 0.25})
	kept := 0
	const all = 20_000
	for range all {
		if s.Begin(core.TraceContext{}).Sampled {
			kept++
		}
	}
	if kept < all/5 || kept > all*3/10 {
		t.Errorf("%d of %d traces are kept, want about a quarter", kept, all)
	}
	for _, flag := range []string{"00", "01"} {
		parent := core.ParseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-" + flag)
		if got := s.Begin(parent); got.Sampled != (flag == "01") || got.TraceID != parent.TraceID || got.SpanID == parent.SpanID {
			t.Errorf("below %v begins %v", parent, got)
		}
	}
	end(s, 5*time.Second)
}

// TestNotThere has a collector that takes no connection: spans are dropped and counted, nobody waits.
func TestNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	s, seen := open(t, tracing.Config{Enabled: true, Endpoint: "http://" + address, Ratio: 1, Queue: 128, Timeout: time.Second})
	root := s.Begin(core.TraceContext{})
	for range 10 {
		s.Record(span(root, "x"))
	}
	end(s, 20*time.Second)
	if seen.failed.Load() != 10 || seen.exported.Load() != 0 {
		t.Errorf("%d failed, %d exported", seen.failed.Load(), seen.exported.Load())
	}
}

// TestHangs has a collector that never answers: the queue fills, and what finds no room is dropped and counted.
func TestHangs(t *testing.T) {
	release := make(chan struct{})
	began := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-release
	}))
	defer server.Close()
	defer close(release)
	s, seen := open(t, tracing.Config{Enabled: true, Endpoint: server.URL, Ratio: 1, Queue: 128, Timeout: time.Minute})
	root := s.Begin(core.TraceContext{})
	for range 512 { // a whole batch goes out at once
		for before := seen.full.Load(); ; before = seen.full.Load() {
			if s.Record(span(root, "x")); seen.full.Load() == before {
				break
			}
		}
	}
	<-began
	dropped := seen.full.Load()
	for range 1000 {
		s.Record(span(root, "x"))
	}
	if got := seen.full.Load() - dropped; got != 1000-128 {
		t.Errorf("%d of 1000 spans were dropped, want all but the 128 of the queue", got)
	}
	end(s, time.Millisecond) // a stop does not wait for it
}

// TestHangsAfterReload has a reload take away a collector that never answers: a stop does not wait for what it was to get.
func TestHangsAfterReload(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-release
	}))
	defer server.Close()
	defer close(release)
	s, _ := open(t, tracing.Config{Enabled: true, Endpoint: server.URL, Ratio: 1, Timeout: time.Minute})
	s.Record(span(s.Begin(core.TraceContext{}), "x"))
	<-began
	if err := s.ApplyConfig(tracing.Config{}); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	end(s, time.Millisecond)
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("a stop that had a millisecond took %s", took)
	}
}

// TestHostile has collectors that answer what they should not.
func TestHostile(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	for name, handler := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			for chunk := make([]byte, 32<<10); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		},
		"later": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"takes none": func(w http.ResponseWriter, _ *http.Request) {
			text, _ := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 1 << 40}})
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write(text)
		},
		"garbage": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte("\xff\xff\xff"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
			s, seen := open(t, tracing.Config{Enabled: true, Endpoint: server.URL, Ratio: 1, Timeout: time.Second})
			s.Record(span(s.Begin(core.TraceContext{}), "x"))
			end(s, 20*time.Second)
			if seen.failed.Load() != 1 || seen.exported.Load() != 0 {
				t.Errorf("%d failed, %d exported", seen.failed.Load(), seen.exported.Load())
			}
		})
	}
}

// TestReload has spans that wait go to the collector that they were meant for.
func TestReload(t *testing.T) {
	first, second := otlptest.New(t), otlptest.New(t)
	s, _ := open(t, tracing.Config{Enabled: true, Endpoint: first.URL, Ratio: 1})
	root := s.Begin(core.TraceContext{})
	s.Record(span(root, "before"))
	if err := s.ApplyConfig(tracing.Config{Enabled: true, Endpoint: "no address"}); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("a bad address gives %v", err)
	}
	if err := s.ApplyConfig(tracing.Config{Enabled: true, Endpoint: second.URL, Ratio: 1}); err != nil {
		t.Fatal(err)
	}
	s.Record(span(root, "after"))
	end(s, 10*time.Second)
	if a, b := first.Spans(), second.Spans(); len(a) != 1 || len(b) != 1 || a[0].Name != "before" || b[0].Name != "after" {
		t.Errorf("the first collector has %+v, the second %+v", a, b)
	}
}

func TestRecallIsBounded(t *testing.T) {
	r := otlptest.New(t)
	s, _ := open(t, tracing.Config{Enabled: true, Endpoint: r.URL, Ratio: 1})
	for n := range 20_000 {
		s.Remember(fmt.Sprint(n), s.Begin(core.TraceContext{}))
	}
	if !s.Recall("0").IsZero() || s.Recall("19999").IsZero() {
		t.Error("the oldest are kept, or the newest are not")
	}
	end(s, time.Second)
}
