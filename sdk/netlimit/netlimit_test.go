package netlimit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/netlimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns both ends of a TCP connection, of which the server's end is limited. The buffers of the client are small,
// so that what it does not read is soon not taken.
func pair(t *testing.T, limits netlimit.Limits) (l *netlimit.Listener, server net.Conn, client *net.TCPConn) {
	t.Helper()
	l = listen(t, limits)
	client = dial(t, l)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return l, server, client
}

func listen(t *testing.T, limits netlimit.Limits) *netlimit.Listener {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := netlimit.New(inner, limits)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func dial(t *testing.T, l net.Listener) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := conn.(*net.TCPConn)
	if err := client.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// big is more than the system buffers.
var big = bytes.Repeat([]byte("wardroom"), 2<<20)

func TestPeerThatTakesNothing(t *testing.T) {
	const stall = 200 * time.Millisecond
	l, server, _ := pair(t, netlimit.Limits{Stall: stall})
	began := time.Now()
	_, err := server.Write(big)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the write ended with %v", err)
	}
	if took := time.Since(began); took < stall {
		t.Errorf("given up after %s, before the limit", took)
	}
	if got := l.Stats().Stalled; got != 1 {
		t.Errorf("%d stalled", got)
	}
}

// A peer that takes a little now and then keeps its connection, even where the whole takes many times the limit, and
// where the system has no room to show for it.
func TestPeerThatIsSlow(t *testing.T) {
	const stall = 400 * time.Millisecond
	_, server, client := pair(t, netlimit.Limits{Stall: stall})
	written := make(chan error, 1)
	go func() {
		_, err := server.Write(big)
		written <- err
	}()
	piece := make([]byte, 16<<10)
	began := time.Now()
	for time.Since(began) < 4*stall {
		if _, err := io.ReadFull(client, piece); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-written:
			t.Fatalf("the write ended with %v after %s", err, time.Since(began))
		case <-time.After(stall / 20):
		}
	}
	_ = client.Close()
	<-written
}

func TestCallersDeadlineHolds(t *testing.T) {
	_, server, _ := pair(t, netlimit.Limits{Stall: time.Hour})
	if err := server.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write(big); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the write ended with %v", err)
	}
	// An expired one stays expired; without one writes go on. A read does not go by it.
	if _, err := server.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the write ended with %v", err)
	}
}

func TestCallersDeadlineInterrupts(t *testing.T) {
	for name, stall := range map[string]time.Duration{"Limited": time.Hour, "Unlimited": 0} {
		t.Run(name, func(t *testing.T) {
			_, server, client := pair(t, netlimit.Limits{Stall: stall})
			written := make(chan error, 1)
			go func() {
				_, err := server.Write(big)
				written <- err
			}()
			if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if err := server.SetWriteDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			if err := <-written; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("the write ended with %v", err)
			}
			// Taken back, the connection writes on.
			if err := server.SetWriteDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			go func() {
				_, err := server.Write(big)
				written <- err
			}()
			if _, err := io.ReadFull(client, make([]byte, 64<<10)); err != nil {
				t.Fatal(err)
			}
			_ = client.Close()
			if err := <-written; errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the write ended with %v", err)
			}
		})
	}
}

// Idle connections have no limit: only a write that waits has one.
func TestIdleConnectionStays(t *testing.T) {
	_, server, client := pair(t, netlimit.Limits{Stall: 20 * time.Millisecond})
	for range 3 {
		<-time.After(60 * time.Millisecond)
		if _, err := server.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDrainHastensWrites(t *testing.T) {
	l, server, client := pair(t, netlimit.Limits{Stall: time.Hour})
	written := make(chan error, 1)
	go func() {
		_, err := server.Write(big)
		written <- err
	}()
	if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	l.Drain(50 * time.Millisecond)
	if err := <-written; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the write ended with %v", err)
	}
}

func TestDrainHastensReads(t *testing.T) {
	l, server, _ := pair(t, netlimit.Limits{Stall: time.Hour})
	_, unhurried, peer := pair(t, netlimit.Limits{})
	if err := server.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	l.Drain(50 * time.Millisecond)
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the read ended with %v", err)
	}
	// Nor can the next one take longer.
	if err := server.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the read ended with %v", err)
	}
	_ = peer.Close()
	if _, err := unhurried.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

func TestNumberOfConnections(t *testing.T) {
	for name, limits := range map[string]netlimit.Limits{"Total": {Total: 2}, "PerAddress": {PerAddress: 2}} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, limits)
			accepted := make(chan net.Conn, 4)
			go func() {
				defer close(accepted)
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					accepted <- c
				}
			}()
			dial(t, l)
			dial(t, l)
			first, second := <-accepted, <-accepted
			refused := dial(t, l)
			if _, err := refused.Read(make([]byte, 1)); err == nil {
				t.Fatal("the third connection was served")
			}
			if got := l.Stats(); got.Open != 2 || got.Refused != 1 {
				t.Errorf("stats %+v", got)
			}
			_ = first.Close()
			_ = first.Close() // counts once
			dial(t, l)
			third := <-accepted
			if got := l.Stats(); got.Open != 2 || got.Refused != 1 {
				t.Errorf("stats %+v", got)
			}
			for _, c := range []net.Conn{second, third} {
				_ = c.Close()
			}
			_ = l.Close()
			for c := range accepted {
				_ = c.Close()
			}
			if got := l.Stats().Open; got != 0 {
				t.Errorf("%d connections are open", got)
			}
		})
	}
}

// serve runs an HTTP server whose answers are big until the test ends.
func serve(t *testing.T, l *netlimit.Listener, handler http.HandlerFunc) *http.Server {
	t.Helper()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Hour, ConnContext: netlimit.ConnContext, ConnState: netlimit.ConnState}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return server
}

func TestServerStops(t *testing.T) {
	entered := make(chan struct{}, 2)
	l := listen(t, netlimit.Limits{Stall: time.Hour})
	server := serve(t, l, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/limited" && !netlimit.LimitStall(r.Context(), time.Minute) {
			t.Error("the connection has no limit")
		}
		entered <- struct{}{}
		_, _ = w.Write(big)
	})
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /limited HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		if _, err := io.WriteString(dial(t, l), text); err != nil {
			t.Fatal(err)
		}
		<-entered
	}
	if _, err := io.WriteString(dial(t, l), "GET / HTTP/1.1\r\nHo"); err != nil {
		t.Fatal(err)
	}
	dial(t, l) // says nothing at all
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l.Drain(100 * time.Millisecond)
	if err := server.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if got := l.Stats().Open; got > 1 { // one may wait to be accepted still
		t.Errorf("%d connections are open", got)
	}
}

// A limit of one connection holds for it alone.
func TestLimitStall(t *testing.T) {
	ended := make(chan error, 1)
	l := listen(t, netlimit.Limits{Stall: time.Hour})
	serve(t, l, func(w http.ResponseWriter, r *http.Request) {
		netlimit.LimitStall(r.Context(), 50*time.Millisecond)
		_, err := w.Write(big)
		ended <- err
	})
	if _, err := io.WriteString(dial(t, l), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the write ended with %v", err)
	}
	if netlimit.LimitStall(context.Background(), time.Second) {
		t.Error("a context without a connection has a limit")
	}
}

func BenchmarkWrite(b *testing.B) {
	for name, limit := range map[string]time.Duration{"Limited": 30 * time.Second, "Unlimited": 0} {
		b.Run(name, func(b *testing.B) {
			inner, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			l := netlimit.New(inner, netlimit.Limits{Stall: limit})
			defer l.Close()
			client, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			server, err := l.Accept()
			if err != nil {
				b.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = io.Copy(io.Discard, client)
			}()
			defer func() { _ = server.Close(); <-done }()
			line := make([]byte, 256)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := server.Write(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
