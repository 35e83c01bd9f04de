package agent_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

func TestNew_BadOptions(t *testing.T) {
	_, err := agent.New(agent.Options{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"url is empty", "name is empty", "capabilities are empty", "handler is nil"} {
		if !strings.Contains(err.Error(), want) { // all at once
			t.Errorf("no %q in %q", want, err)
		}
	}
	good := agent.Options{URL: "http://h", Name: "n", Capabilities: []string{"c"}, Handler: echo}
	for want, change := range map[string]func(*agent.Options){
		"scheme must be":                      func(o *agent.Options) { o.URL = "ftp://h" },
		"has no host":                         func(o *agent.Options) { o.URL = "http://" },
		"url: parse":                          func(o *agent.Options) { o.URL = "http://h:port" },
		"capabilities[1] is empty":            func(o *agent.Options) { o.Capabilities = []string{"c", " "} },
		"max concurrent tasks is -1":          func(o *agent.Options) { o.MaxConcurrentTasks = -1 },
		"max frame bytes is -1":               func(o *agent.Options) { o.MaxFrameBytes = -1 },
		"metadata cannot be encoded":          func(o *agent.Options) { o.Metadata = map[string]any{"rate": math.NaN()} },
		"shutdown grace is negative":          func(o *agent.Options) { o.ShutdownGrace = -1 },
		"reconnect maximum 1s is below the m": func(o *agent.Options) { o.ReconnectMin, o.ReconnectMax = time.Minute, time.Second },
	} {
		opts := good
		change(&opts)
		if _, err := agent.New(opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := agent.New(good); err != nil {
		t.Error(err)
	}
}

// TestAgent_URLs checks which address an agent connects to, by the dial and the request that come of it.
func TestAgent_URLs(t *testing.T) {
	for base, want := range map[string]string{
		"http://one.test:81":                      "one.test:81 " + protocol.Path,
		"ws://two.test":                           "two.test:80 " + protocol.Path,
		"http://three.test/sub/":                  "three.test:80 /sub" + protocol.Path,
		"http://four.test" + protocol.Path + "#x": "four.test:80 " + protocol.Path,
	} {
		var got atomic.Value
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got.CompareAndSwap(nil, r.URL.Path)
			w.WriteHeader(http.StatusForbidden)
		}))
		var dialed atomic.Value
		a, err := agent.New(agent.Options{
			URL: base, Name: "n", Capabilities: []string{"c"}, Handler: echo,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				dialed.Store(addr)
				return (&net.Dialer{}).DialContext(ctx, network, srv.Listener.Addr().String())
			},
		})
		must(t, err)
		var refused *agent.ConnectError
		if err := a.Run(testContext(t)); !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
			t.Errorf("%s: Run: %v", base, err)
		}
		srv.Close()
		if s := dialed.Load().(string) + " " + got.Load().(string); s != want {
			t.Errorf("%s: connects to %s, want %s", base, s, want)
		}
	}
}

// TestAgent_TLS connects through a TLS proxy: the coalesced writes carry whole records.
func TestAgent_TLS(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	target, err := url.Parse(srv.URL)
	must(t, err)
	proxy := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(target))
	t.Cleanup(proxy.Close)
	roots := x509.NewCertPool()
	roots.AddCert(proxy.Certificate())
	for _, inline := range []bool{true, false} {
		a := run(t, srv, echo, func(o *agent.Options) {
			o.URL, o.TLS, o.Inline = proxy.URL, &tls.Config{RootCAs: roots}, inline
		})
		c := accept(t, srv)
		for _, id := range []string{"t1", "t2", "t3"} {
			must(t, c.Task(task(id, 1)))
		}
		for range 3 {
			nextResult(t, c)
		}
		a.stop()
		_, err := c.Next(testContext(t), protocol.TypeDisconnect, nil)
		must(t, err)
		must(t, a.end())
	}
}

func TestAgent_FrameTooLarge(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, echo, func(o *agent.Options) { o.MaxFrameBytes = 2000 })
	c := accept(t, srv)
	large := task("t1", 1)
	large.Input = []byte(`"` + strings.Repeat("x", 4000) + `"`)
	must(t, c.Task(large))
	if c = accept(t, srv); !c.Registered.Resumed { // such a connection is given up, not the agent
		t.Error("not resumed")
	}
	must(t, c.Task(task("t2", 1)))
	nextResult(t, c)
}

// waits has the waits of an agent before it comes back sent to a channel.
func waits(o *agent.Options) <-chan time.Duration {
	to := make(chan time.Duration, 100)
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "retryIn" {
			to <- a.Value.Duration()
		}
		return a
	}}))
	return to
}

// TestAgent_ComesBackLater checks that an agent comes back later and later to a server that ends each session with the same
// trouble, although it gets frames before.
func TestAgent_ComesBackLater(t *testing.T) {
	const rounds = 9
	large := task("large", 1)
	large.Input = []byte(`"` + strings.Repeat("x", 4000) + `"`)
	for name, trouble := range map[string]func(c *agenttest.Conn) error{
		"frame too large":         func(c *agenttest.Conn) error { return c.Task(large) },
		"the agent's frame was":   func(c *agenttest.Conn) error { return c.Close(websocket.CloseMessageTooBig, "") },
		"the server cannot store": func(c *agenttest.Conn) error { return c.Close(websocket.CloseTryAgainLater, "") },
	} {
		t.Run(name, func(t *testing.T) {
			srv := newServer(t, agenttest.Options{})
			var waited <-chan time.Duration
			run(t, srv, echo, func(o *agent.Options) {
				o.MaxFrameBytes = 2000
				waited = waits(o)
			})
			var last time.Duration
			for range rounds {
				c := accept(t, srv)
				must(t, c.Task(task("small", 1)))
				nextResult(t, c)
				must(t, trouble(c))
				last = <-waited
			}
			if last < 10*time.Millisecond { // half of the longest wait of run
				t.Errorf("the last wait was %s", last)
			}
		})
	}
}

// TestAgent_RetryAfter checks that an agent stays away for as long as a refusal asks it to.
func TestAgent_RetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "86400": time.Minute, "-5": 0, "soon": 0, "": 0} {
		t.Run(header, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", header)
				w.WriteHeader(http.StatusTooManyRequests)
			}))
			defer srv.Close()
			opts := agent.Options{URL: srv.URL, Name: "n", Capabilities: []string{"c"}, Handler: echo, ReconnectMax: time.Second}
			waited := waits(&opts)
			a, err := agent.New(opts)
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() { result <- a.Run(ctx) }()
			got := <-waited
			cancel()
			must(t, <-result)
			if want == 0 && got > time.Second || want > 0 && (got < want || got > want+time.Second) {
				t.Errorf("waits %s, want %s", got, want)
			}
		})
	}
}
