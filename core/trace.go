package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// TraceContext is one place in a trace, as W3C Trace Context has it: which trace, which span, and whether it is sampled.
// The zero value is no trace.
type TraceContext struct {
	TraceID [16]byte
	SpanID  [8]byte
	Sampled bool
}

// maxTraceparent bounds what is read of a version that is not known yet.
const maxTraceparent = 128

// ParseTraceparent reads the text of a traceparent header. What is not one is no trace: its sender is not told.
func ParseTraceparent(text string) TraceContext {
	var t TraceContext
	var version, flags [1]byte
	known := len(text) == 55 || len(text) > 55 && len(text) <= maxTraceparent && text[55] == '-'
	if !known || text[2] != '-' || text[35] != '-' || text[52] != '-' || strings.ToLower(text[:55]) != text[:55] {
		return TraceContext{}
	}
	for _, part := range []struct {
		into []byte
		text string
	}{{version[:], text[:2]}, {t.TraceID[:], text[3:35]}, {t.SpanID[:], text[36:52]}, {flags[:], text[53:55]}} {
		if _, err := hex.Decode(part.into, []byte(part.text)); err != nil {
			return TraceContext{}
		}
	}
	if version[0] == 0xff || version[0] == 0 && len(text) != 55 || t.TraceID == [16]byte{} || t.SpanID == [8]byte{} {
		return TraceContext{}
	}
	t.Sampled = flags[0]&1 != 0
	return t
}

// IsZero reports whether it is no trace.
func (t TraceContext) IsZero() bool { return t.TraceID == [16]byte{} }

// String is the text of a traceparent header; "" for no trace.
func (t TraceContext) String() string {
	if t.IsZero() {
		return ""
	}
	flags := "-00"
	if t.Sampled {
		flags = "-01"
	}
	return "00-" + hex.EncodeToString(t.TraceID[:]) + "-" + hex.EncodeToString(t.SpanID[:]) + flags
}

// Child is the place of the span below t that goes by key. It is the same over restarts, so that the end of a span is told
// under the identity that others were handed at its beginning.
func (t TraceContext) Child(key string) TraceContext {
	if t.IsZero() {
		return t
	}
	sum := sha256.New()
	sum.Write(t.TraceID[:])
	sum.Write(t.SpanID[:])
	sum.Write([]byte(key))
	copy(t.SpanID[:], sum.Sum(nil))
	return t
}

type traceKey struct{}

// WithTrace returns a context whose work belongs to t.
func WithTrace(ctx context.Context, t TraceContext) context.Context {
	if t.IsZero() {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceFrom returns what WithTrace put in, or no trace.
func TraceFrom(ctx context.Context) TraceContext {
	t, _ := ctx.Value(traceKey{}).(TraceContext)
	return t
}

// SpanKind says on which side of a call a span is.
type SpanKind uint8

// Kinds of spans.
const (
	SpanInternal SpanKind = iota
	SpanServer            // it answers somebody
	SpanClient            // it asks somebody
)

// SpanAttribute is one thing that a span tells. Its value is a name, an id, a code or a number that Wardroom made or that
// names a thing of the configuration: never a text that users or agents wrote.
type SpanAttribute struct {
	Key    string
	Text   string
	Number int64 // told where Text is empty
}

// Span is one piece of work of a trace, told when it is over.
type Span struct {
	Trace      TraceContext // its own place
	Parent     [8]byte      // the span that it is part of; zero: it is the first of its trace
	Name       string
	Kind       SpanKind
	Start, End time.Time
	Failed     string // a code of why it failed; "": it did not
	Attributes []SpanAttribute
}

// Tracer takes the spans of traces. Methods never block and are safe for concurrent use. While tracing is off there are no
// traces, and all methods cost next to nothing.
type Tracer interface {
	// Begin returns the place of a new span below parent; of a new trace, which is sampled or not, where that is none. While
	// tracing is off it returns no trace.
	Begin(parent TraceContext) TraceContext
	// Record takes a span that is over. One that is not sampled is dropped.
	Record(span Span)
	// Remember keeps the place that a resource has, for Recall. Only some thousand that are sampled are kept.
	Remember(id string, t TraceContext)
	// Recall returns the place of a resource, or no trace.
	Recall(id string) TraceContext
}

// NoTracer is tracing that is off.
type NoTracer struct{}

var _ Tracer = NoTracer{}

// Begin implements Tracer.
func (NoTracer) Begin(TraceContext) TraceContext { return TraceContext{} }

// Record implements Tracer.
func (NoTracer) Record(Span) {}

// Remember implements Tracer.
func (NoTracer) Remember(string, TraceContext) {}

// Recall implements Tracer.
func (NoTracer) Recall(string) TraceContext { return TraceContext{} }
