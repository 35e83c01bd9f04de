package secret_test

import (
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/wardroom/wardroom/sdk/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// vault is a provider of a few secrets.
type vault struct {
	results []secret.Result
	err     error
	refs    []secret.Ref
	caller  secret.Caller
	changes *changes
}

func (v *vault) Resolve(ctx context.Context, refs []secret.Ref, caller secret.Caller) ([]secret.Result, error) {
	v.refs, v.caller = refs, caller
	if v.err == nil && v.results == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return v.results, v.err
}

func (v *vault) Watch(_ context.Context, refs []secret.Ref) (secret.ChangeStream, error) {
	v.refs = refs
	if v.err != nil {
		return nil, v.err
	}
	return v.changes, nil
}

// changes yields what is sent to it.
type changes struct {
	next chan []secret.Ref
	done chan struct{}
	err  error
	once sync.Once
}

func (c *changes) Next() ([]secret.Ref, error) {
	select {
	case refs, ok := <-c.next:
		if !ok {
			return nil, c.err
		}
		return refs, nil
	case <-c.done:
		return nil, io.EOF
	}
}

func (c *changes) Close() error { c.once.Do(func() { close(c.done) }); return nil }

func dial(tb testing.TB, p secret.Provider) *secret.Client {
	tb.Helper()
	listener := bufconn.Listen(1 << 16)
	s := grpc.NewServer()
	secret.Serve(s, p)
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
	return secret.NewClient(conn)
}

func testContext(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	tb.Cleanup(cancel)
	return ctx
}

var refs = []secret.Ref{{Path: "db", Key: "password"}, {Path: "empty"}, {Path: "gone"}}

// A provider that forgets a value, or answers in another order, gives errors, and neither empty secrets nor those of others.
func TestResolveGarbage(t *testing.T) {
	v := &vault{results: []secret.Result{
		{Ref: refs[0]},
		{Ref: refs[2], Value: secret.NewValue([]byte(plain), "7", time.Time{})},
		{Value: secret.NewValue([]byte(plain), "7", time.Time{})},
	}}
	got, err := dial(t, v).Resolve(testContext(t), refs, secret.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got[:2] {
		if r.Error == nil || r.Error.Code != secret.CodeInternal || !r.Value.IsZero() {
			t.Errorf("%v gives %d bytes and %v, want INTERNAL", refs[i], r.Value.Len(), r.Error)
		}
	}
	if r := got[2]; r.Error != nil || string(r.Value.Reveal()) != plain || r.Ref != refs[2] {
		t.Errorf("a result that does not repeat its reference: %v", r.Error)
	}
}

func TestResolve(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	missing := &secret.Error{Code: secret.CodeNotFound, Message: "there is no gone", Hint: "make it", Retry: true}
	v := &vault{results: []secret.Result{
		{Ref: refs[0], Value: secret.NewValue([]byte(plain+"\xff"), "7", at)},
		{Ref: refs[1], Value: secret.NewValue([]byte{}, "", time.Time{})},
		{Ref: refs[2], Error: missing},
	}}
	caller := secret.Caller{Component: "webhook", Pattern: "p", ExecutionID: "e", RequestID: "r"}
	got, err := dial(t, v).Resolve(testContext(t), refs, caller)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, v.results) {
		t.Errorf("the results changed on the way")
	}
	if !reflect.DeepEqual(v.refs, refs) || v.caller != caller {
		t.Errorf("asked for %v by %v", v.refs, v.caller)
	}
}

func TestResolveFails(t *testing.T) {
	ctx := testContext(t)
	v := &vault{err: secret.Errorf(secret.CodeUnavailable, "the store is down")}
	c := dial(t, v)
	_, err := c.Resolve(ctx, refs, secret.Caller{})
	if e := secret.AsError(err); e == nil || e.Code != secret.CodeUnavailable || !e.Retry || e.Message != "the store is down" {
		t.Errorf("got %v", err)
	}
	v.err = errors.New("hunter2 was refused")
	if _, err := c.Resolve(ctx, refs, secret.Caller{}); err.Error() != "INTERNAL: internal error of the secret provider" {
		t.Errorf("a foreign error: %v", err)
	}
	v.err, v.results = nil, []secret.Result{}
	if _, err := c.Resolve(ctx, refs, secret.Caller{}); secret.AsError(err).Code != secret.CodeInternal {
		t.Errorf("too few results: %v", err)
	}
	v.results = nil
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = c.Resolve(short, refs, secret.Caller{})
	if !errors.Is(err, context.DeadlineExceeded) || secret.AsError(err).Code != secret.CodeTimeout {
		t.Errorf("late: %v", err)
	}
}

func TestWatch(t *testing.T) {
	ctx := testContext(t)
	v := &vault{changes: &changes{next: make(chan []secret.Ref, 1), done: make(chan struct{}), err: secret.Errorf(secret.CodeForbidden, "revoked")}}
	w, err := dial(t, v).Watch(ctx, refs)
	if err != nil {
		t.Fatal(err)
	}
	v.changes.next <- refs[:1]
	if got, err := w.Next(); err != nil || !reflect.DeepEqual(got, refs[:1]) {
		t.Errorf("got %v, %v", got, err)
	}
	close(v.changes.next)
	if _, err := w.Next(); secret.AsError(err).Code != secret.CodeForbidden {
		t.Errorf("the end: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestWatchEnds(t *testing.T) {
	v := &vault{changes: &changes{next: make(chan []secret.Ref), done: make(chan struct{})}}
	w, err := dial(t, v).Watch(testContext(t), refs)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after Close: %v", err)
	}
	select {
	case <-v.changes.done:
	case <-time.After(15 * time.Second):
		t.Error("the provider's stream stays open")
	}
}

func TestWatchFails(t *testing.T) {
	ctx := testContext(t)
	if _, err := dial(t, secret.Unimplemented{}).Watch(ctx, refs); secret.AsError(err).Code != secret.CodeUnimplemented {
		t.Errorf("got %v", err)
	}
	if _, err := dial(t, secret.Unimplemented{}).Resolve(ctx, refs, secret.Caller{}); secret.AsError(err).Code != secret.CodeUnimplemented {
		t.Errorf("got %v", err)
	}
	if _, err := dial(t, &vault{err: secret.Errorf(secret.CodeInvalidRef, "no")}).Watch(ctx, refs); secret.AsError(err).Code != secret.CodeInvalidRef {
		t.Errorf("got %v", err)
	}
}
