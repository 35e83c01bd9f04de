package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded is one request as the server saw it.
type recorded struct {
	Method, URI, Body string
	Header            http.Header
}

// server answers with the handlers it is given, one after the other (the last one again and again), and
// keeps what it was asked.
type server struct {
	*httptest.Server
	mu       sync.Mutex // guards all below
	requests []recorded
	handlers []http.HandlerFunc
}

func newServer(t *testing.T, handlers ...http.HandlerFunc) *server {
	t.Helper()
	s := &server{handlers: handlers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, recorded{r.Method, r.RequestURI, string(body), r.Header.Clone()})
		handler := s.handlers[min(len(s.requests), len(s.handlers))-1]
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) seen() []recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]recorded(nil), s.requests...)
}

func (s *server) last(t *testing.T) recorded {
	t.Helper()
	all := s.seen()
	if len(all) == 0 {
		t.Fatal("the server saw no request")
	}
	return all[len(all)-1]
}

// answer makes a handler with a status and a JSON body.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", "req_1")
		w.Header().Set("X-Service-Version", "9.9.9")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// noWait makes pauses cost nothing, on a clock that the pauses move.
func noWait(opts client.Options) (client.Options, func() []time.Duration) {
	var mu sync.Mutex
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var pauses []time.Duration
	opts.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	opts.Sleep = func(ctx context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
		pauses = append(pauses, d)
		return ctx.Err()
	}
	return opts, func() []time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return append([]time.Duration(nil), pauses...)
	}
}

func newClient(t *testing.T, url string, opts client.Options) *client.Client {
	t.Helper()
	c, err := client.New(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestNew(t *testing.T) {
	for _, tt := range []struct{ name, url, want, err string }{
		{"Plain", "http://a:1", "http://a:1", ""},
		{"NoScheme", "127.0.0.1:8080", "http://127.0.0.1:8080", ""},
		{"Prefix", "https://a/wardroom/", "https://a/wardroom", ""},
		{"Scheme", "ftp://a", "", "must be http or https"},
		{"NoHost", "http://", "", "no host"},
		{"Query", "http://a?x=1", "", "query"},
		{"Credentials", "http://u:p@a", "", "Options.Token"},
		{"Garbage", "http://a:b:c", "", "server address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := client.New(tt.url, client.Options{})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("err = %v, want one with %q", err, tt.err)
				}
				if strings.Contains(err.Error(), "u:p") {
					t.Fatalf("the error shows the credentials: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := c.BaseURL(); got != tt.want {
				t.Fatalf("BaseURL = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	s := newServer(t, answer(200, `{"status":"healthy","version":"1.2.3","uptime":4}`))
	c := newClient(t, s.URL, client.Options{Token: "wr_secret", UserAgent: "test/1"})
	health, err := c.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if health.Status != "healthy" || health.Version != "1.2.3" || health.Uptime != 4 {
		t.Errorf("health = %+v", health)
	}
	if health.RequestID != "req_1" || health.ServerVersion != "9.9.9" || health.HTTPStatus != 200 || len(health.Body) == 0 {
		t.Errorf("meta = %+v", health.Meta)
	}
	r := s.last(t)
	for name, want := range map[string]string{
		"Authorization": "Bearer wr_secret", "User-Agent": "test/1", "Accept": "application/json", "Content-Type": "",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

// TestRequests checks what each method sends.
func TestRequests(t *testing.T) {
	s := newServer(t, answer(200, `{}`))
	c := newClient(t, s.URL, client.Options{})
	since := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.FixedZone("x", 3600))
	for _, tt := range []struct {
		name string
		call func(ctx context.Context) error
		want string // method, URI and body
	}{
		{"ListPatterns", func(ctx context.Context) error {
			_, err := c.ListPatterns(ctx, client.PatternFilter{Search: "a b", Page: client.Page{Limit: 5, Offset: 10}})
			return err
		}, `GET /api/patterns?limit=5&offset=10&search=a+b `},
		{"CursorWinsOverOffset", func(ctx context.Context) error {
			_, err := c.ListPatterns(ctx, client.PatternFilter{Page: client.Page{Cursor: "x=", Offset: 10}})
			return err
		}, `GET /api/patterns?cursor=x%3D `},
		{"GetPattern", func(ctx context.Context) error { _, err := c.GetPattern(ctx, "a/b ü", "1.x"); return err },
			`GET /api/patterns/a%2Fb%20%C3%BC?version=1.x `},
		{"GetPatternDots", func(ctx context.Context) error { _, err := c.GetPattern(ctx, "..", ""); return err },
			`GET /api/patterns/%2E%2E `},
		{"CreatePattern", func(ctx context.Context) error {
			_, err := c.CreatePattern(ctx, client.PatternInput{Definition: "name: x\n"})
			return err
		}, `POST /api/patterns {"definition":"name: x\n"}`},
		{"UpdatePattern", func(ctx context.Context) error {
			_, err := c.UpdatePattern(ctx, "x", client.PatternInput{Name: "x", Version: "2", Definition: "d"})
			return err
		}, `PUT /api/patterns/x {"version":"2","definition":"d"}`},
		{"DeletePattern", func(ctx context.Context) error { _, err := c.DeletePattern(ctx, "x", "1"); return err },
			`DELETE /api/patterns/x?version=1 `},
		{"PatternVersions", func(ctx context.Context) error { _, err := c.PatternVersions(ctx, "x"); return err },
			`GET /api/patterns/x/versions `},
		{"ValidatePattern", func(ctx context.Context) error { _, err := c.ValidatePattern(ctx, "d"); return err },
			`POST /api/patterns/validate {"definition":"d"}`},
		{"GetPatternDrawing", func(ctx context.Context) error { _, err := c.GetPatternDrawing(ctx, "x", "1"); return err },
			`GET /api/patterns/x/drawing?version=1 `},
		{"DrawPattern", func(ctx context.Context) error { _, err := c.DrawPattern(ctx, "d"); return err },
			`POST /api/patterns/drawing {"definition":"d"}`},
		{"Execute", func(ctx context.Context) error {
			_, err := c.Execute(ctx, client.ExecuteRequest{Pattern: "x", Input: json.RawMessage(`{"a":1}`)})
			return err
		}, `POST /api/patterns/x/execute {"input":{"a":1}}`},
		{"ExecuteOptions", func(ctx context.Context) error {
			_, err := c.Execute(ctx, client.ExecuteRequest{Pattern: "x", Version: "1", Options: client.ExecuteOptions{
				Timeout: 1500 * time.Millisecond, Priority: "high", Metadata: map[string]any{"k": "v"},
			}})
			return err
		}, `POST /api/patterns/x/execute?version=1 {"input":{},"options":{"timeout":1500,"priority":"high","metadata":{"k":"v"}}}`},
		{"ExecuteAsync", func(ctx context.Context) error {
			_, err := c.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "x", Version: "1"})
			return err
		}, `POST /api/patterns/x/execute?async=true&version=1 {"input":{}}`},
		{"GetExecution", func(ctx context.Context) error { _, err := c.GetExecution(ctx, "exec_1"); return err },
			`GET /api/executions/exec_1 `},
		{"ListExecutions", func(ctx context.Context) error {
			_, err := c.ListExecutions(ctx, client.ExecutionFilter{Pattern: "x", Status: "failed", Since: since, Until: since})
			return err
		}, `GET /api/executions?pattern=x&since=2026-01-02T02%3A04%3A05.006Z&status=failed&until=2026-01-02T02%3A04%3A05.006Z `},
		{"Cancel", func(ctx context.Context) error { _, err := c.CancelExecution(ctx, "e", "why"); return err },
			`POST /api/executions/e/cancel {"reason":"why"}`},
		{"CancelPlain", func(ctx context.Context) error { _, err := c.CancelExecution(ctx, "e", ""); return err },
			`POST /api/executions/e/cancel `},
		{"Retry", func(ctx context.Context) error { _, err := c.RetryExecution(ctx, "e", ""); return err },
			`POST /api/executions/e/retry `},
		{"Rerun", func(ctx context.Context) error { _, err := c.RerunExecution(ctx, "e", "s2", ""); return err },
			`POST /api/executions/e/rerun {"fromStep":"s2"}`},
		{"StartBatch", func(ctx context.Context) error {
			_, err := c.StartBatch(ctx, client.BatchRequest{
				Pattern: "x", Inputs: []json.RawMessage{json.RawMessage(`{}`)}, Concurrency: 3, StopOnError: true,
			})
			return err
		}, `POST /api/batch/execute {"pattern":"x","inputs":[{}],"options":{"concurrency":3,"stopOnError":true}}`},
		{"StartBatchOptions", func(ctx context.Context) error {
			_, err := c.StartBatch(ctx, client.BatchRequest{
				Pattern: "x", Version: "1", Options: client.ExecuteOptions{Timeout: time.Second},
			})
			return err
		}, `POST /api/batch/execute {"pattern":"x","version":"1","inputs":[],"options":{"timeout":1000}}`},
		{"GetBatch", func(ctx context.Context) error { _, err := c.GetBatch(ctx, "b"); return err }, `GET /api/batch/b?limit=100 `},
		{"CancelBatch", func(ctx context.Context) error { _, err := c.CancelBatch(ctx, "b"); return err },
			`POST /api/batch/b/cancel `},
		{"ListAgents", func(ctx context.Context) error {
			_, err := c.ListAgents(ctx, client.AgentFilter{Status: "connected", Capabilities: []string{"a", "b"}, Region: "eu"})
			return err
		}, `GET /api/agents?capabilities=a%2Cb&region=eu&status=connected `},
		{"GetAgent", func(ctx context.Context) error { _, err := c.GetAgent(ctx, "a"); return err }, `GET /api/agents/a `},
		{"DisconnectAgent", func(ctx context.Context) error { _, err := c.DisconnectAgent(ctx, "a", ""); return err },
			`POST /api/agents/a/disconnect `},
		{"HealthDetailed", func(ctx context.Context) error { _, err := c.HealthDetailed(ctx); return err },
			`GET /api/health?detailed=true `},
		{"Ready", c.Ready, `GET /api/health/ready `},
		{"Live", c.Live, `GET /api/health/live `},
		{"OpenAPI", func(ctx context.Context) error { _, err := c.OpenAPI(ctx); return err }, `GET /api/openapi.json `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.call(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := s.last(t)
			if got := r.Method + " " + r.URI + " " + r.Body; got != tt.want {
				t.Errorf("sent %s\nwant %s", got, tt.want)
			}
			if r.Body != "" && r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type = %q", r.Header.Get("Content-Type"))
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Run("Execution", func(t *testing.T) {
		s := newServer(t, answer(200, `{"executionId":"exec_1","pattern":{"name":"x","version":"1"},"status":"failed",
			"error":{"code":"AGENT_ERROR","message":"no"},"duration":12,"startedAt":"2026-01-02T03:04:05.006Z",
			"agents":[{"id":"agent_1","status":"failed"}],"later":"field"}`))
		e, err := newClient(t, s.URL, client.Options{}).GetExecution(t.Context(), "exec_1")
		if err != nil {
			t.Fatal(err)
		}
		if e.Pattern != (client.PatternRef{Name: "x", Version: "1"}) || e.Error.Code != "AGENT_ERROR" ||
			e.Duration.Duration() != 12*time.Millisecond || e.StartedAt.Nanosecond() != 6_000_000 || e.Agents[0].ID != "agent_1" {
			t.Errorf("execution = %+v", e)
		}
		if !strings.Contains(string(e.Body), "later") {
			t.Error("the body lost a field that the client does not know")
		}
	})
	t.Run("ListWithPatternName", func(t *testing.T) {
		s := newServer(t, answer(200, `{"executions":[{"executionId":"e","pattern":"x","status":"running"}],"total":7,"hasMore":true}`))
		list, err := newClient(t, s.URL, client.Options{}).ListExecutions(t.Context(), client.ExecutionFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if list.Executions[0].Pattern != "x" || list.Total != 7 || !list.HasMore {
			t.Errorf("list = %+v", list)
		}
	})
	t.Run("UnhealthyIsAnAnswer", func(t *testing.T) {
		s := newServer(t, answer(503, `{"status":"unhealthy","version":"1","checks":[{"name":"store","status":"failed"}]}`))
		h, err := newClient(t, s.URL, client.Options{}).HealthDetailed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if h.Status != "unhealthy" || h.HTTPStatus != 503 || h.Checks[0].Name != "store" {
			t.Errorf("health = %+v", h)
		}
	})
	t.Run("NotJSON", func(t *testing.T) {
		s := newServer(t, answer(200, `<html>`))
		_, err := newClient(t, s.URL, client.Options{}).GetExecution(t.Context(), "e")
		if err == nil || !strings.Contains(err.Error(), "GET /api/executions/e") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("TooLarge", func(t *testing.T) {
		s := newServer(t, answer(200, `{"status":"`+strings.Repeat("x", 100)+`"}`))
		_, err := newClient(t, s.URL, client.Options{MaxResponse: 50}).GetExecution(t.Context(), "e")
		if err == nil || !strings.Contains(err.Error(), "larger than 50 bytes") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("Replayed", func(t *testing.T) {
		s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Idempotent-Replayed", "true")
			answer(200, `{"executionId":"e"}`)(w, r)
		})
		e, err := newClient(t, s.URL, client.Options{}).Execute(t.Context(), client.ExecuteRequest{Pattern: "x", IdempotencyKey: "k"})
		if err != nil || !e.Replayed || s.last(t).Header.Get("Idempotency-Key") != "k" {
			t.Errorf("execution = %+v, err = %v", e, err)
		}
	})
}

func TestIdempotencyKey(t *testing.T) {
	a, b := client.NewIdempotencyKey(), client.NewIdempotencyKey()
	if a == b || len(a) < 20 || len(a) > 255 {
		t.Errorf("keys %q and %q", a, b)
	}
}

func TestWalk(t *testing.T) {
	page := func(names string, more bool, cursor string) http.HandlerFunc {
		var rows []map[string]string
		for _, n := range strings.Fields(names) {
			rows = append(rows, map[string]string{"name": n})
		}
		body, _ := json.Marshal(map[string]any{"patterns": rows, "hasMore": more, "nextCursor": cursor})
		return answer(200, string(body))
	}
	walk := func(c *client.Client, stopAt string) (names []string, failed error) {
		for p, err := range c.Patterns(t.Context(), client.PatternFilter{Search: "s"}) {
			if err != nil {
				return names, err
			}
			names = append(names, p.Name)
			if p.Name == stopAt {
				break
			}
		}
		return names, nil
	}
	t.Run("Cursor", func(t *testing.T) {
		s := newServer(t, page("a b", true, "c1"), page("c", true, "c2"), page("d", false, ""))
		names, err := walk(newClient(t, s.URL, client.Options{}), "")
		if err != nil || strings.Join(names, "") != "abcd" {
			t.Fatalf("names = %v, err = %v", names, err)
		}
		if got := s.last(t).URI; got != "/api/patterns?cursor=c2&limit=100&search=s" {
			t.Errorf("last page: %s", got)
		}
	})
	t.Run("Offset", func(t *testing.T) {
		s := newServer(t, page("a b", true, ""), page("c", false, ""))
		names, err := walk(newClient(t, s.URL, client.Options{}), "")
		if err != nil || strings.Join(names, "") != "abc" {
			t.Fatalf("names = %v, err = %v", names, err)
		}
		if got := s.last(t).URI; got != "/api/patterns?limit=100&offset=2&search=s" {
			t.Errorf("last page: %s", got)
		}
	})
	t.Run("StopsWithTheCaller", func(t *testing.T) {
		s := newServer(t, page("a b", true, "c1"))
		names, _ := walk(newClient(t, s.URL, client.Options{}), "a")
		if len(names) != 1 || len(s.seen()) != 1 {
			t.Errorf("names = %v after %d requests", names, len(s.seen()))
		}
	})
	t.Run("EmptyPages", func(t *testing.T) {
		s := newServer(t, page("", true, "c1"), page("", true, "c2"), page("a", false, ""))
		if names, err := walk(newClient(t, s.URL, client.Options{}), ""); err != nil || len(names) != 1 {
			t.Errorf("names = %v, err = %v", names, err)
		}
	})
	t.Run("EmptyPageEnds", func(t *testing.T) {
		s := newServer(t, page("", true, ""))
		if names, err := walk(newClient(t, s.URL, client.Options{}), ""); err != nil || len(names) != 0 {
			t.Errorf("names = %v, err = %v", names, err)
		}
	})
	t.Run("SamePageAgain", func(t *testing.T) {
		s := newServer(t, page("a", true, "again"))
		names, err := walk(newClient(t, s.URL, client.Options{}), "")
		if err == nil || len(names) != 2 || len(s.seen()) != 2 {
			t.Errorf("names = %v, err = %v after %d requests", names, err, len(s.seen()))
		}
	})
	t.Run("PagesInACircle", func(t *testing.T) {
		var steps []http.HandlerFunc
		for i := range 40 { // after three pages to begin with, four that come again and again
			cursor := fmt.Sprint("c", i)
			if i > 3 {
				cursor = fmt.Sprint("c", 3+(i-3)%4)
			}
			steps = append(steps, page("a", true, cursor))
		}
		s := newServer(t, append(steps, answer(500, `{}`))...)
		_, err := walk(newClient(t, s.URL, client.Options{}), "")
		if err == nil || !strings.Contains(err.Error(), "comes again") || len(s.seen()) > 20 {
			t.Errorf("err = %v after %d requests", err, len(s.seen()))
		}
	})
	t.Run("Error", func(t *testing.T) {
		s := newServer(t, page("a", true, "c1"), answer(400, `{"error":{"code":"VALIDATION_ERROR","message":"cursor"}}`))
		names, err := walk(newClient(t, s.URL, client.Options{}), "")
		if len(names) != 1 || client.CodeOf(err) != client.CodeValidation {
			t.Errorf("names = %v, err = %v", names, err)
		}
	})
	t.Run("AgentsAndExecutions", func(t *testing.T) {
		s := newServer(t, answer(200, `{"agents":[{"id":"a"}],"executions":[{"executionId":"e","pattern":"p"}]}`))
		c := newClient(t, s.URL, client.Options{})
		for a, err := range c.Agents(t.Context(), client.AgentFilter{}) {
			if err != nil || a.ID != "a" {
				t.Errorf("agent %+v, err %v", a, err)
			}
		}
		for e, err := range c.Executions(t.Context(), client.ExecutionFilter{}) {
			if err != nil || e.ExecutionID != "e" {
				t.Errorf("execution %+v, err %v", e, err)
			}
		}
	})
}

// Batches and versions come in pages; who asks for them gets all of them.
func TestPagesAreFollowed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.RequestURI() {
		case "/api/batch/b?limit=100":
			_, _ = io.WriteString(w, `{"batchId":"b","status":"completed","total":3,"extra":1,"results":[{"index":0},{"index":1}],"hasMore":true,"nextCursor":"2"}`)
		case "/api/batch/b?cursor=2&limit=100":
			_, _ = io.WriteString(w, `{"batchId":"b","status":"completed","total":3,"results":[{"index":2,"new":1}],"hasMore":false}`)
		case "/api/patterns/p/versions":
			_, _ = io.WriteString(w, `{"versions":[{"version":"2"}],"total":2,"limit":1,"offset":0,"hasMore":true}`)
		case "/api/patterns/p/versions?limit=100&offset=1":
			_, _ = io.WriteString(w, `{"versions":[{"version":"1"}],"total":2,"limit":100,"offset":1,"hasMore":false}`)
		default:
			t.Errorf("unexpected %s", r.URL)
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	batch, err := c.GetBatch(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"batchId":"b","extra":1,"hasMore":false,"results":[{"index":0},{"index":1},{"index":2,"new":1}],"status":"completed","total":3}`
	if len(batch.Results) != 3 || batch.Results[2].Index != 2 || batch.HasMore || string(batch.Body) != want {
		t.Errorf("%+v, %s", batch.Results, batch.Body)
	}
	versions, err := c.PatternVersions(t.Context(), "p")
	if err != nil || len(versions.Versions) != 2 || versions.Versions[1].Version != "1" || !strings.Contains(string(versions.Body), `"hasMore":false`) {
		t.Errorf("%+v, %v", versions, err)
	}
}

// TestBatchThatDoesNotGoOn ends with an error at a page that is its own next one, and goes on behind an empty page.
func TestBatchThatDoesNotGoOn(t *testing.T) {
	again := answer(200, `{"batchId":"b","results":[{"index":0}],"hasMore":true,"nextCursor":"again"}`)
	s := newServer(t, again, again, again, again, answer(500, `{}`))
	if b, err := newClient(t, s.URL, client.Options{}).GetBatch(t.Context(), "b"); err == nil || len(s.seen()) != 2 {
		t.Errorf("batch = %+v, err = %v after %d requests", b, err, len(s.seen()))
	}
	s = newServer(t, answer(200, `{"batchId":"b","results":[],"hasMore":true,"nextCursor":"1"}`), answer(200, `{"batchId":"b","results":[{"index":0}]}`))
	b, err := newClient(t, s.URL, client.Options{}).GetBatch(t.Context(), "b")
	if err != nil || len(b.Results) != 1 || b.HasMore {
		t.Errorf("batch = %+v, err = %v", b, err)
	}
}

// TestNoBoundOfAnswers takes the largest number for what it says.
func TestNoBoundOfAnswers(t *testing.T) {
	s := newServer(t, answer(200, `{"executionId":"e"}`))
	e, err := newClient(t, s.URL, client.Options{MaxResponse: math.MaxInt64}).GetExecution(t.Context(), "e")
	if err != nil || e.ExecutionID != "e" {
		t.Errorf("execution = %+v, err = %v", e, err)
	}
}
