package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// benchDefinition has the size of a real definition.
const benchDefinition = `{"name":"classify","version":"1.0.0","input":{"text":{"type":"string","required":true}},` +
	`"agents":{"capabilities":["classify"],"min":3,"max":5,"taskTimeout":30000},` +
	`"aggregation":{"strategy":"voting","method":"majority"},` +
	`"output":{"label":"$vote.result","confidence":"$vote.confidence"}}`

// hammer sends one request again and again over keep-alive connections.
func hammer(b *testing.B, handler http.Handler, method, path, body string) {
	server := httptest.NewServer(handler)
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, _ := http.NewRequest(method, server.URL+path, strings.NewReader(body))
			if body != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 200 {
				b.Errorf("status %d", resp.StatusCode)
				return
			}
		}
	})
}

func benchServer(tb testing.TB) http.Handler {
	clock := core.SystemClock{}
	pattern := somePattern("classify", "1.0.0")
	pattern.Definition = json.RawMessage(benchDefinition)
	return api.New(api.Options{
		Patterns:   &fakePatterns{find: func(string, string) (*core.Pattern, error) { return pattern, nil }},
		Executions: &fakeExecutions{}, Timelines: &fakeExecutions{}, Batches: &fakeBatches{}, Agents: &fakeAgents{},
		Idempotency: newKeys(tb), Journal: &fakeJournal{}, Clock: clock, IDs: core.NewIDs(clock), Version: "1.2.3", Config: api.Config{Hosts: testHosts},
	})
}

// bareGin answers every path with fixed bytes, as cheaply as gin can.
func bareGin(body string) http.Handler {
	e := gin.New()
	bytes := []byte(body)
	answer := func(c *gin.Context) { c.Data(http.StatusOK, "application/json; charset=utf-8", bytes) }
	e.GET("/api/patterns/:name", answer)
	e.POST("/api/patterns/:name/execute", answer)
	return e
}

func recorded(h http.Handler, method, path, body string) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w.Body.String()
}

func BenchmarkGetPattern(b *testing.B) {
	s := benchServer(b)
	b.Run("api", func(b *testing.B) { hammer(b, s, "GET", "/api/patterns/classify", "") })
	b.Run("gin", func(b *testing.B) {
		hammer(b, bareGin(recorded(s, "GET", "/api/patterns/classify", "")), "GET", "/api/patterns/classify", "")
	})
}

const executeBody = `{"input":{"text":"the quick brown fox"},"options":{"timeout":30000,"priority":"normal"}}`

func BenchmarkExecute(b *testing.B) {
	b.Run("api", func(b *testing.B) { hammer(b, benchServer(b), "POST", "/api/patterns/classify/execute", executeBody) })
	b.Run("gin", func(b *testing.B) {
		hammer(b, bareGin(strings.Repeat("x", 250)), "POST", "/api/patterns/classify/execute", executeBody)
	})
}

// BenchmarkHandler is the share of a request that is this package's, without network and net/http.
func BenchmarkHandler(b *testing.B) {
	s := benchServer(b)
	for _, c := range []struct{ name, method, path, body string }{
		{"get", "GET", "/api/patterns/classify", ""},
		{"execute", "POST", "/api/patterns/classify/execute", executeBody},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			req := httptest.NewRequest(c.method, c.path, nil)
			req.Header.Set("Content-Type", "application/json")
			w := &discard{header: http.Header{}}
			for b.Loop() {
				if c.body != "" {
					req.Body = io.NopCloser(strings.NewReader(c.body))
					req.ContentLength = int64(len(c.body))
				}
				clear(w.header)
				s.ServeHTTP(w, req)
			}
		})
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
