package client_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

const (
	unavailable = `{"error":{"code":"INTERNAL_ERROR","message":"shutting down"}}`
	noAgents    = `{"error":{"code":"NO_AGENTS","message":"none"}}`
	limited     = `{"error":{"code":"RATE_LIMITED","message":"slow"}}`
)

// begun is the answer to a synchronous execute while the server stops: the execution goes on after its restart.
const begun = `{"error":{"code":"INTERNAL_ERROR","message":"shutting down","details":{"reason":"shutting_down","executionId":"exec_1"}}}`

// stored is the answer to a send that waits for its turn while the server stops: the message stays.
const stored = `{"error":{"code":"INTERNAL_ERROR","message":"shutting down","details":{"reason":"shutting_down","threadId":"thread_1","inputId":"in_1"}}}`

// unrecorded is the answer to what was done, and whose record was refused.
const unrecorded = `{"error":{"code":"INTERNAL_ERROR","message":"full","details":{"reason":"audit_full","done":true}}}`

// hangUp drops the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestRetry(t *testing.T) {
	minute := client.RetryPolicy{MaxElapsed: time.Minute}
	execute := func(key string) func(context.Context, *client.Client) error {
		return func(ctx context.Context, c *client.Client) error {
			_, err := c.Execute(ctx, client.ExecuteRequest{Pattern: "x", IdempotencyKey: key})
			return err
		}
	}
	remove := func(ctx context.Context, c *client.Client) error { return c.DeleteSchedule(ctx, "s") }
	withdraw := func(ctx context.Context, c *client.Client) error { return c.WithdrawThreadInput(ctx, "t", "in_1") }
	gone := answer(404, `{"error":{"code":"NOT_FOUND","message":"schedule s does not exist"}}`)
	get := func(ctx context.Context, c *client.Client) error { _, err := c.GetExecution(ctx, "e"); return err }
	cancel := func(ctx context.Context, c *client.Client) error {
		_, err := c.CancelExecution(ctx, "e", "")
		return err
	}
	send := func(key string) func(context.Context, *client.Client) error {
		return func(ctx context.Context, c *client.Client) error {
			_, err := c.SendThread(ctx, "t", client.ThreadInput{Message: "hello", ExpectResponse: true, IdempotencyKey: key})
			return err
		}
	}
	ok := answer(200, `{}`)
	for _, tt := range []struct {
		name     string
		policy   client.RetryPolicy
		handlers []http.HandlerFunc
		call     func(context.Context, *client.Client) error
		requests int
		fails    bool
	}{
		{"NotAsked", client.RetryPolicy{}, []http.HandlerFunc{answer(503, unavailable), ok}, get, 1, true},
		{"Read503", minute, []http.HandlerFunc{answer(503, unavailable), answer(503, unavailable), ok}, get, 3, false},
		{"Read429", minute, []http.HandlerFunc{answer(429, limited), ok}, get, 2, false},
		{"Read502", minute, []http.HandlerFunc{answer(502, ""), ok}, get, 2, false},
		{"ReadHangUp", minute, []http.HandlerFunc{hangUp, ok}, get, 2, false},
		{"Create503", minute, []http.HandlerFunc{answer(503, unavailable), ok}, execute(""), 2, false},
		{"CreateBegun503", minute, []http.HandlerFunc{answer(503, begun), ok}, execute(""), 1, true},
		{"KeyedCreateBegun503", minute, []http.HandlerFunc{answer(503, begun), ok}, execute("k"), 2, false},
		{"SendStored503", minute, []http.HandlerFunc{answer(503, stored), ok}, send(""), 1, true},
		{"KeyedSendStored503", minute, []http.HandlerFunc{answer(503, stored), ok}, send("k"), 2, false},
		{"SendRefused503", minute, []http.HandlerFunc{answer(503, unavailable), ok}, send(""), 2, false},
		{"SendUnrecorded503", minute, []http.HandlerFunc{answer(503, unrecorded), ok}, send(""), 1, true},
		{"KeyedSendUnrecorded503", minute, []http.HandlerFunc{answer(503, unrecorded), ok}, send("k"), 2, false},
		{"CreateProxy503", minute, []http.HandlerFunc{answer(503, "upstream connect error or disconnect/reset before headers"), ok}, execute(""), 1, true},
		{"ReadProxy503", minute, []http.HandlerFunc{answer(503, "no healthy upstream"), ok}, get, 2, false},
		{"Create502", minute, []http.HandlerFunc{answer(502, ""), ok}, execute(""), 1, true},
		{"CreateHangUp", minute, []http.HandlerFunc{hangUp, ok}, execute(""), 1, true},
		{"KeyedCreateHangUp", minute, []http.HandlerFunc{hangUp, ok}, execute("k"), 2, false},
		{"CancelHangUp", minute, []http.HandlerFunc{hangUp, ok}, cancel, 2, false},
		{"DeleteHangUp", minute, []http.HandlerFunc{hangUp, gone}, remove, 2, false},
		{"Delete502", minute, []http.HandlerFunc{answer(502, ""), gone}, remove, 2, false},
		{"DeleteUnrecorded503", minute, []http.HandlerFunc{answer(503, unrecorded), gone}, remove, 2, false},
		{"DeleteRefused503", minute, []http.HandlerFunc{answer(503, unavailable), gone}, remove, 2, true},
		{"DeleteOfNothing", minute, []http.HandlerFunc{gone}, remove, 1, true},
		{"DeleteProxy404", minute, []http.HandlerFunc{hangUp, answer(404, "<html>")}, remove, 2, true},
		{"WithdrawHangUp", minute, []http.HandlerFunc{hangUp, gone}, withdraw, 2, true}, // the agent may have it
		{"NoAgents", minute, []http.HandlerFunc{answer(503, noAgents), ok}, execute("k"), 1, true},
		{"NotFound", minute, []http.HandlerFunc{answer(404, "{}"), ok}, get, 1, true},
		{"Internal", minute, []http.HandlerFunc{answer(500, "{}"), ok}, get, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, tt.handlers...)
			// Without kept connections net/http has no reason to repeat anything by itself.
			opts, _ := noWait(client.Options{Retry: tt.policy, HTTPClient: &http.Client{
				Transport: &http.Transport{DisableKeepAlives: true},
			}})
			err := tt.call(t.Context(), newClient(t, s.URL, opts))
			if (err != nil) != tt.fails {
				t.Errorf("err = %v", err)
			}
			if got := len(s.seen()); got != tt.requests {
				t.Errorf("%d requests, want %d", got, tt.requests)
			}
		})
	}
}

// What a client deleted itself, and did not learn of, is not missing.
func TestRetryOfDelete(t *testing.T) {
	gone := answer(404, `{"error":{"code":"NOT_FOUND","message":"it does not exist"}}`)
	for name, remove := range map[string]func(context.Context, *client.Client) error{
		"execution": func(ctx context.Context, c *client.Client) error { return c.DeleteExecution(ctx, "x") },
		"schedule":  func(ctx context.Context, c *client.Client) error { return c.DeleteSchedule(ctx, "x") },
		"trigger":   func(ctx context.Context, c *client.Client) error { return c.DeleteTrigger(ctx, "x") },
		"webhook":   func(ctx context.Context, c *client.Client) error { return c.DeleteWebhook(ctx, "x") },
		"session":   func(ctx context.Context, c *client.Client) error { return c.RevokeSession(ctx, "x") },
		"plugin": func(ctx context.Context, c *client.Client) error {
			out, err := c.RemovePlugin(ctx, "x")
			if err == nil && out.Name != "x" {
				t.Errorf("%q is said to be removed", out.Name)
			}
			return err
		},
		"pattern": func(ctx context.Context, c *client.Client) error {
			out, err := c.DeletePattern(ctx, "x", "1.0.0")
			if err == nil && !out.Deleted {
				t.Error("it is not said to be deleted")
			}
			return err
		},
	} {
		s := newServer(t, hangUp, gone)
		opts, _ := noWait(client.Options{Retry: client.RetryPolicy{MaxElapsed: time.Minute}, HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
		if err := remove(t.Context(), newClient(t, s.URL, opts)); err != nil || len(s.seen()) != 2 {
			t.Errorf("%s: %v after %d requests", name, err, len(s.seen()))
		}
	}
}

func TestRetryPauses(t *testing.T) {
	s := newServer(t, answer(503, unavailable))
	opts, pauses := noWait(client.Options{Retry: client.RetryPolicy{
		MaxElapsed: 10 * time.Second, Base: 100 * time.Millisecond, Max: time.Second,
	}})
	_, err := newClient(t, s.URL, opts).GetExecution(t.Context(), "e")
	if client.CodeOf(err) != client.CodeInternal {
		t.Fatalf("err = %v", err)
	}
	var total time.Duration
	for i, p := range pauses() {
		longest := min(100*time.Millisecond<<min(i, 10), time.Second)
		if p < longest/2 || p > longest {
			t.Errorf("pause %d is %s, want %s to %s", i, p, longest/2, longest)
		}
		total += p
	}
	if total > 10*time.Second || total < 8*time.Second {
		t.Errorf("tried for %s", total)
	}
}

func TestRetryAfterIsRespected(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "20")
		answer(429, limited)(w, r)
	}, answer(200, `{}`))
	opts, pauses := noWait(client.Options{Retry: client.RetryPolicy{MaxElapsed: time.Minute}})
	if _, err := newClient(t, s.URL, opts).GetExecution(t.Context(), "e"); err != nil {
		t.Fatal(err)
	}
	if got := pauses(); len(got) != 1 || got[0] != 20*time.Second {
		t.Errorf("pauses = %v", got)
	}
}

func TestConnectionRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	opts, pauses := noWait(client.Options{Retry: client.RetryPolicy{MaxElapsed: time.Second}})
	// A creation without a key is repeated too: it never left.
	_, err = newClient(t, "http://"+address, opts).Execute(t.Context(), client.ExecuteRequest{Pattern: "x"})
	var conn *client.ConnectionError
	if !errors.As(err, &conn) || conn.Sent || len(pauses()) == 0 {
		t.Errorf("err = %v after %d pauses", err, len(pauses()))
	}
}

// A server that is not trusted, or speaks no TLS, got no request: its connection could not be made.
func TestConnectionsThatAreNotMade(t *testing.T) {
	var asked atomic.Int32
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	quiet := log.New(io.Discard, "", 0)
	secure := httptest.NewUnstartedServer(handler)
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewUnstartedServer(handler)
	plain.Config.ErrorLog = quiet
	plain.Start()
	defer plain.Close()
	for _, address := range []string{secure.URL, strings.Replace(plain.URL, "http:", "https:", 1)} {
		_, err := newClient(t, address, client.Options{}).Execute(t.Context(), client.ExecuteRequest{Pattern: "x"})
		var conn *client.ConnectionError
		if !errors.As(err, &conn) || conn.Sent || !strings.HasPrefix(err.Error(), "cannot connect to "+address) {
			t.Errorf("%s: %v", address, err)
		}
	}
	_, err := newClient(t, strings.Replace(secure.URL, "https:", "http:", 1), client.Options{}).GetExecution(t.Context(), "e")
	var refused *client.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "https://") {
		t.Errorf("plain text to a server with TLS: %v", err)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests came in", n)
	}
}

func TestCallersEndIsNotAConnectionError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := newClient(t, s.URL, client.Options{Retry: client.RetryPolicy{MaxElapsed: time.Hour}}).GetExecution(ctx, "e")
	if !errors.Is(err, context.Canceled) || client.Unreachable(err) {
		t.Errorf("err = %v", err)
	}
}
