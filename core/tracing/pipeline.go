package tracing

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
)

// Bounds of what goes to a collector.
const (
	defaultQueue   = 2048
	defaultTimeout = 10 * time.Second
	batchSize      = 512
	batchWait      = 2 * time.Second // for a batch to fill
	maxAttribute   = 256             // bytes of a text
	maxAnswer      = 64 << 10        // bytes of a collector's answer that are read
	complainEvery  = time.Minute
)

// pipeline is the way of spans to one collector.
type pipeline struct {
	opts      Options
	threshold uint64
	timeout   time.Duration
	exporter  *otlptrace.Exporter
	tracer    trace.Tracer

	queue    chan sdktrace.ReadOnlySpan
	ending   chan struct{} // closed by close: what waits is given away, and no more is taken
	endOnce  sync.Once
	cancel   context.CancelFunc // of exports
	ctx      context.Context
	started  bool          // set by start; close comes after it
	done     chan struct{} // closed once nothing goes to the collector any more
	complain time.Time     // of the last line in the log
	refused  int64         // spans, by the collector's last answer; of run
}

var _ sdktrace.SpanProcessor = (*pipeline)(nil)

// newPipeline makes a way to a collector, without asking whether it is there. VALIDATION_ERROR.
func newPipeline(c Config, o Options) (*pipeline, error) {
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil || endpoint.Host == "" {
		return nil, core.Invalid("observability.tracing.endpoint", "is not the address of a collector such as http://127.0.0.1:4318")
	}
	if endpoint.Path == "" || endpoint.Path == "/" {
		endpoint.Path = "/v1/traces"
	}
	p := &pipeline{
		opts: o, threshold: threshold(c.Ratio), timeout: cmp.Or(c.Timeout, defaultTimeout),
		queue: make(chan sdktrace.ReadOnlySpan, cmp.Or(c.Queue, defaultQueue)), ending: make(chan struct{}), done: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy, transport.TLSClientConfig = nil, clientTLS(c)
	transport.MaxResponseHeaderBytes = maxAnswer
	client := &http.Client{
		Transport:     bounded{transport, &p.refused},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // headers may hold secrets
		Timeout:       p.timeout,
	}
	p.exporter = otlptrace.NewUnstarted(otlptracehttp.NewClient(
		otlptracehttp.WithEndpointURL(endpoint.String()), otlptracehttp.WithHeaders(c.Headers), otlptracehttp.WithHTTPClient(client),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression), otlptracehttp.WithTimeout(p.timeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: 500 * time.Millisecond, MaxInterval: 5 * time.Second, MaxElapsedTime: p.timeout,
		}),
	))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // what is not sampled does not come here
		sdktrace.WithIDGenerator(givenIDs{}), sdktrace.WithSpanProcessor(p),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "wardroom"), attribute.String("service.version", o.Version),
			attribute.String("service.instance.id", o.Instance),
		)),
	)
	p.tracer = provider.Tracer("github.com/wardroom/wardroom")
	return p, nil
}

// bounded cuts the answers of a collector, and notes how many spans the last one refused, which the library keeps to itself.
type bounded struct {
	next    http.RoundTripper
	refused *int64
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	*b.refused = 0
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		_ = resp.Body.Close() // the earlier error is the one that counts
		return nil, err
	}
	var answer collector.ExportTraceServiceResponse
	if proto.Unmarshal(text, &answer) == nil {
		*b.refused = max(answer.GetPartialSuccess().GetRejectedSpans(), 0)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(text), resp.Body}
	return resp, nil
}

// start begins to give spans to the collector.
func (p *pipeline) start() {
	p.started = true
	go p.run()
}

// close gives what waits to the collector, for as long as left, and joins run, if it was started.
func (p *pipeline) close(left time.Duration) {
	p.endOnce.Do(func() { close(p.ending) })
	defer p.cancel()
	if !p.started {
		return
	}
	timer := time.AfterFunc(max(left, 0), p.cancel)
	defer timer.Stop()
	<-p.done
}

// givenIDs has spans carry the identity that others were handed.
type givenIDs struct{}

type spanKey struct{}

// NewIDs implements sdktrace.IDGenerator.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	t, _ := ctx.Value(spanKey{}).(core.TraceContext)
	return t.TraceID, t.SpanID
}

// NewSpanID implements sdktrace.IDGenerator.
func (givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	t, _ := ctx.Value(spanKey{}).(core.TraceContext)
	return t.SpanID
}

var spanKinds = map[core.SpanKind]trace.SpanKind{
	core.SpanInternal: trace.SpanKindInternal, core.SpanServer: trace.SpanKindServer, core.SpanClient: trace.SpanKindClient,
}

// record makes the library's form of a span and puts it in the queue.
func (p *pipeline) record(s *core.Span) {
	ctx := context.WithValue(context.Background(), spanKey{}, s.Trace)
	if s.Parent != [8]byte{} {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: s.Trace.TraceID, SpanID: s.Parent, TraceFlags: trace.FlagsSampled, Remote: true,
		}))
	}
	attributes := make([]attribute.KeyValue, 0, len(s.Attributes))
	for _, a := range s.Attributes {
		if a.Text != "" {
			attributes = append(attributes, attribute.String(a.Key, clip.Text(a.Text, maxAttribute)))
		} else {
			attributes = append(attributes, attribute.Int64(a.Key, a.Number))
		}
	}
	if s.Failed != "" {
		attributes = append(attributes, attribute.String("error.type", clip.Text(s.Failed, maxAttribute)))
	}
	_, span := p.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Start), trace.WithSpanKind(spanKinds[s.Kind]), trace.WithAttributes(attributes...))
	if s.Failed != "" {
		span.SetStatus(codes.Error, "")
	}
	end := s.End
	if end.Before(s.Start) {
		end = s.Start
	}
	span.End(trace.WithTimestamp(end))
}

// OnStart implements sdktrace.SpanProcessor.
func (p *pipeline) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements sdktrace.SpanProcessor: a span that finds no room is dropped.
func (p *pipeline) OnEnd(span sdktrace.ReadOnlySpan) {
	select {
	case p.queue <- span:
	default:
		p.opts.Observer.SpansDropped(1, DroppedQueueFull)
	}
}

// Shutdown implements sdktrace.SpanProcessor; close does it.
func (p *pipeline) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdktrace.SpanProcessor; it does nothing.
func (p *pipeline) ForceFlush(context.Context) error { return nil }

// run gives spans to the collector in batches until close, and then what is left.
func (p *pipeline) run() {
	defer close(p.done)
	batch := make([]sdktrace.ReadOnlySpan, 0, batchSize)
	for {
		select {
		case span := <-p.queue:
			batch = append(batch, span)
		case <-p.ending:
			for p.fill(&batch, nil); len(batch) > 0; p.fill(&batch, nil) {
				p.export(batch)
				batch = batch[:0]
			}
			return
		}
		due := time.NewTimer(batchWait)
		p.fill(&batch, due.C)
		due.Stop()
		p.export(batch)
		clear(batch)
		batch = batch[:0]
	}
}

// fill adds spans to a batch until it is full, the time is over, or the pipeline ends; without a time, until none waits.
func (p *pipeline) fill(batch *[]sdktrace.ReadOnlySpan, due <-chan time.Time) {
	for len(*batch) < batchSize {
		select {
		case span := <-p.queue:
			*batch = append(*batch, span)
			continue
		default:
		}
		if due == nil {
			return
		}
		select {
		case span := <-p.queue:
			*batch = append(*batch, span)
		case <-due:
			return
		case <-p.ending:
			return
		}
	}
}

// export gives a batch to the collector. What it does not take is dropped.
func (p *pipeline) export(batch []sdktrace.ReadOnlySpan) {
	ctx, cancel := context.WithTimeout(p.ctx, p.timeout)
	defer cancel()
	lost := len(batch)
	if err := p.exporter.ExportSpans(ctx, batch); err == nil {
		lost = int(min(p.refused, int64(lost)))
	}
	if lost > 0 {
		p.opts.Observer.SpansDropped(lost, DroppedExport)
		if now := time.Now(); now.Sub(p.complain) > complainEvery {
			p.complain = now
			// The error's text may repeat what the collector says.
			p.opts.Logger.Warn("the collector of traces takes none; spans are dropped and counted in service_trace_spans_total", "spans", lost)
		}
	}
	if taken := len(batch) - lost; taken > 0 {
		p.opts.Observer.SpansExported(taken)
	}
}
