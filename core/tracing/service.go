package tracing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel"

	"github.com/wardroom/wardroom/core"
)

// Config is what may change while the service runs. The zero value is off.
type Config struct {
	Enabled  bool
	Endpoint string            // of the collector, http or https; /v1/traces is added where it has no path
	Headers  map[string]string // of each request; they may hold secrets
	CA       *x509.CertPool    // nil: the machine's
	Ratio    float64           // of traces that begin here, 0 to 1
	Queue    int               // spans that wait at most; 0: 2048
	Timeout  time.Duration     // of one export with its retries; 0: 10 s
}

// Observer receives what becomes of spans. Methods must be quick and safe for concurrent use.
type Observer interface {
	// SpansExported counts spans that the collector took.
	SpansExported(n int)
	// SpansDropped counts spans that found the queue full, or whose export failed.
	SpansDropped(n int, reason string)
}

// Reasons of SpansDropped.
const (
	DroppedQueueFull = "queue_full"
	DroppedExport    = "export_failed"
)

// Options are what a Service is made of. All are required.
type Options struct {
	Logger   hclog.Logger
	Observer Observer
	Version  string // of the product
	Instance string // that tells this process from others of the same service
}

// Service is a core.Tracer. Make it with New, change it with ApplyConfig, end it with Close.
type Service struct {
	opts    Options
	current atomic.Pointer[pipeline] // nil: off
	memory  memory

	wg     sync.WaitGroup // pipelines that come to their end
	mu     sync.Mutex     // guards what follows, and changes of current
	closed bool
	ending map[*pipeline]bool // those that wg waits for
}

var _ core.Tracer = (*Service)(nil)

// New makes a service that is off.
func New(o Options) *Service {
	return &Service{opts: o}
}

// quiet keeps the library from logging by itself: what it says may hold the address and the answer of a collector.
var quiet = sync.OnceFunc(func() { otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) })

// ApplyConfig puts a configuration into effect. Spans that wait are given to the collector that they were meant for, for as
// long as one export may take; it does not wait for that. VALIDATION_ERROR.
func (s *Service) ApplyConfig(c Config) error {
	quiet()
	var next *pipeline
	if c.Enabled {
		var err error
		if next, err = newPipeline(c, s.opts); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		if next != nil {
			next.close(0)
		}
		return nil
	}
	former := s.current.Swap(next)
	if next != nil {
		next.start()
	}
	if former != nil {
		if s.ending == nil {
			s.ending = map[*pipeline]bool{}
		}
		s.ending[former] = true
		s.wg.Go(func() {
			former.close(former.timeout)
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.ending, former)
		})
	}
	return nil
}

// Close gives what waits to the collector, for as long as ctx lasts, and ends.
func (s *Service) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	former := s.current.Swap(nil)
	ending := slices.Collect(maps.Keys(s.ending))
	s.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		for _, p := range ending {
			p.cancel()
		}
	})()
	if former != nil {
		left := former.timeout
		if until, ok := ctx.Deadline(); ok {
			left = min(left, time.Until(until))
		}
		former.close(left)
	}
	s.wg.Wait()
}

// Begin implements core.Tracer. Whether a trace of somebody else is sampled is theirs to say.
func (s *Service) Begin(parent core.TraceContext) core.TraceContext {
	p := s.current.Load()
	if p == nil {
		return core.TraceContext{}
	}
	t := parent
	if t.IsZero() {
		for t.TraceID == [16]byte{} {
			binary.BigEndian.PutUint64(t.TraceID[:8], rand.Uint64()) //nolint:gosec // ids of traces are no secrets
			binary.BigEndian.PutUint64(t.TraceID[8:], rand.Uint64()) //nolint:gosec // the same
		}
		t.Sampled = binary.BigEndian.Uint64(t.TraceID[8:])>>1 < p.threshold
	}
	for first := true; first || t.SpanID == [8]byte{}; first = false {
		binary.BigEndian.PutUint64(t.SpanID[:], rand.Uint64()) //nolint:gosec // the same
	}
	return t
}

// threshold returns the value that the lower half of a trace id must be below for the trace to be sampled, as
// OpenTelemetry's own sampler by ratio has it: services that go by the same ratio agree.
func threshold(ratio float64) uint64 {
	switch {
	case ratio >= 1:
		return math.MaxUint64
	case ratio <= 0:
		return 0
	}
	return uint64(ratio * (1 << 63))
}

// Record implements core.Tracer.
func (s *Service) Record(span core.Span) {
	if !span.Trace.Sampled {
		return
	}
	if p := s.current.Load(); p != nil {
		p.record(&span)
	}
}

// Remember implements core.Tracer.
func (s *Service) Remember(id string, t core.TraceContext) {
	if t.Sampled && s.current.Load() != nil {
		s.memory.put(id, t)
	}
}

// Recall implements core.Tracer.
func (s *Service) Recall(id string) core.TraceContext {
	if s.current.Load() == nil {
		return core.TraceContext{}
	}
	return s.memory.get(id)
}

// clientTLS is how collectors are reached over https.
func clientTLS(c Config) *tls.Config {
	return &tls.Config{RootCAs: c.CA, MinVersion: tls.VersionTLS12}
}
