package audit_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/wardroom/wardroom/sdk/audit"
	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps records in memory; after failAt records it fails.
type sink struct {
	records []audit.Record
	from    uint64
	calls   int
	failAt  int
	err     error
}

func (s *sink) Open(_ context.Context, from uint64) (uint64, error) {
	s.from = from
	return s.last(), s.err
}

func (s *sink) Write(_ context.Context, batch []audit.Record) (uint64, error) {
	s.calls++
	for _, r := range batch {
		if s.failAt > 0 && len(s.records) == s.failAt {
			return s.last(), s.err
		}
		s.records = append(s.records, r)
	}
	return s.last(), nil
}

func (s *sink) Flush(context.Context) (uint64, error) { return s.last(), s.err }

func (s *sink) last() uint64 {
	if len(s.records) == 0 {
		return 0
	}
	return s.records[len(s.records)-1].Sequence
}

func dial(tb testing.TB, sink audit.Sink) audit.Sink {
	tb.Helper()
	return dialTo(tb, func(s *grpc.Server) { audit.Serve(s, sink) })
}

func dialTo(tb testing.TB, register func(s *grpc.Server)) audit.Sink {
	tb.Helper()
	listener := bufconn.Listen(1 << 20)
	s := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	register(s)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = conn.Close()
		s.Stop()
		<-served
	})
	return audit.NewClient(conn)
}

func testContext(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	tb.Cleanup(cancel)
	return ctx
}

func batch(from, n, size int) []audit.Record {
	out := make([]audit.Record, n)
	for i := range out {
		out[i] = audit.Record{Sequence: uint64(from + i), Time: time.Date(2026, 1, 2, 3, 4, 5, i, time.UTC), JSON: bytes.Repeat([]byte("\xff"), size)}
	}
	return out
}

func TestSink(t *testing.T) {
	s := &sink{}
	c, ctx := dial(t, s), testContext(t)
	if last, err := c.Open(ctx, 5); err != nil || last != 0 || s.from != 5 {
		t.Errorf("open: %d, %v, from %d", last, err, s.from)
	}
	want := batch(5, 3, 10)
	want[2].Time = time.Time{}
	if last, err := c.Write(ctx, want); err != nil || last != 7 {
		t.Errorf("write: %d, %v", last, err)
	}
	if !reflect.DeepEqual(s.records, want) {
		t.Errorf("kept %+v", s.records)
	}
	if last, err := c.Flush(ctx); err != nil || last != 7 {
		t.Errorf("flush: %d, %v", last, err)
	}
	if last, err := c.Write(ctx, nil); err != nil || last != 7 {
		t.Errorf("an empty batch: %d, %v", last, err)
	}
}

func TestLargeBatch(t *testing.T) {
	s := &sink{}
	records := batch(1, 9, 1<<20)
	records = append(records, batch(10, 1, audit.MaxBatchBytes+1)...) // one record beyond the size goes alone
	if last, err := dial(t, s).Write(testContext(t), records); err != nil || last != 10 {
		t.Fatalf("%d, %v", last, err)
	}
	if s.calls != 4 || !reflect.DeepEqual(s.records, records) {
		t.Errorf("%d records in %d messages", len(s.records), s.calls)
	}
}

// What is durable counts even when the rest is not.
func TestWriteFails(t *testing.T) {
	s := &sink{failAt: 5, err: &audit.Error{Code: audit.CodeFull, Message: "the disk is full", Hint: "make room", Retry: true}}
	c, ctx := dial(t, s), testContext(t)
	last, err := c.Write(ctx, batch(1, 9, 1<<20))
	var e *audit.Error
	if last != 5 || !errors.As(err, &e) || !reflect.DeepEqual(e, s.err) {
		t.Errorf("%d, %v", last, err)
	}
	if last, err := c.Flush(ctx); last != 5 || audit.AsError(err).Code != audit.CodeFull {
		t.Errorf("flush: %d, %v", last, err)
	}
	s.err = errors.New("token hunter2")
	if last, err := c.Write(ctx, batch(6, 1, 1)); last != 5 || err.Error() != "INTERNAL: internal error of the audit sink" {
		t.Errorf("a foreign error: %d, %v", last, err)
	}
	if _, err := c.Open(ctx, 1); audit.AsError(err).Code != audit.CodeInternal {
		t.Errorf("open: %v", err)
	}
}

// talkative is a plugin of another make, which says as much as it likes.
type talkative struct {
	pluginv1.UnimplementedAuditSinkServer
}

func (talkative) Write(context.Context, *pluginv1.WriteRequest) (*pluginv1.WriteResponse, error) {
	long := strings.Repeat("no ", 1<<18) + "\n"
	return &pluginv1.WriteResponse{LastDurable: 1, Error: &pluginv1.ErrorDetail{Code: "FULL", Message: long, Hint: long}}, nil
}

// What a plugin says of a failure is bounded: it goes into logs, alerts and the status of sinks.
func TestLongReasons(t *testing.T) {
	c := dialTo(t, func(s *grpc.Server) { pluginv1.RegisterAuditSinkServer(s, talkative{}) })
	last, err := c.Write(testContext(t), batch(1, 2, 1))
	e := audit.AsError(err)
	if last != 1 || e == nil || e.Code != "FULL" || len(e.Message) > 3000 || len(e.Hint) > 3000 || !strings.HasPrefix(e.Message, "no no ") {
		t.Errorf("%d, %d bytes", last, len(err.Error()))
	}
}

func TestGapIsRefused(t *testing.T) {
	s := &sink{}
	records := batch(1, 2, 1)
	records[1].Sequence = 3
	_, err := dial(t, s).Write(testContext(t), records)
	if audit.AsError(err).Code != audit.CodeInvalidArgument || len(s.records) != 0 {
		t.Errorf("%v, kept %d", err, len(s.records))
	}
}

func TestContexts(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := dial(t, &sink{}).Open(ctx, 1); !errors.Is(err, context.Canceled) || audit.AsError(err).Code != audit.CodeCanceled {
		t.Errorf("got %v", err)
	}
	if audit.ToStatus(nil) != nil || audit.FromStatus(nil) != nil || audit.AsError(nil) != nil {
		t.Error("success is an error")
	}
}

func TestUnimplemented(t *testing.T) {
	c, ctx := dial(t, audit.Unimplemented{}), testContext(t)
	_, open := c.Open(ctx, 1)
	_, write := c.Write(ctx, nil)
	_, flush := c.Flush(ctx)
	for _, err := range []error{open, write, flush} {
		if audit.AsError(err).Code != audit.CodeUnimplemented {
			t.Errorf("got %v", err)
		}
	}
}
