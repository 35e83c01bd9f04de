package runtime_test

import (
	"context"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial serves rt and returns the Runtime at the other end of the wire.
func dial(tb testing.TB, rt runtime.Runtime) runtime.Runtime {
	tb.Helper()
	listener := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	runtime.Serve(s, rt)
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
	return runtime.NewClient(conn)
}

func testContext(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	tb.Cleanup(cancel)
	return ctx
}

// within waits for a channel.
func within[T any](tb testing.TB, what string, c <-chan T) T {
	tb.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(15 * time.Second):
		tb.Fatalf("%s: not in time", what)
		panic("unreachable")
	}
}
