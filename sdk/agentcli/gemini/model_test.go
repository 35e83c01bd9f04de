package gemini_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

// reply is what a provider answers to a request: chunks of a stream.
type reply []string

// scripted answers requests that hold PLAY[name] with the replies of that name, one after the other; all else the fake model answers.
type scripted struct {
	replies map[string][]reply

	mu    sync.Mutex
	asked map[string]int
}

var played = regexp.MustCompile(`PLAY\[([a-z-]+)\]`)

// start serves until the test ends, and returns the environment that makes gemini ask it.
func (s *scripted) start(t *testing.T) map[string]string {
	t.Helper()
	behind, err := url.Parse(drivertest.StartModel(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	s.asked = map[string]int{}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next := s.next(body)
		if next == nil || !strings.Contains(r.URL.Path, "streamGenerateContent") {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range next {
			_, _ = io.WriteString(w, "data: "+chunk+"\n\n")
		}
	}))
	t.Cleanup(server.Close)
	return modelEnv(server.URL)
}

// next returns the reply to a request; nil if the fake model answers it.
func (s *scripted) next(body []byte) reply {
	names := played.FindAllSubmatch(body, -1)
	if len(names) == 0 || bytes.Contains(body, []byte(`"responseMimeType"`)) {
		return nil
	}
	name := string(names[len(names)-1][1])
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.asked[name]
	s.asked[name]++
	if n < len(s.replies[name]) {
		return s.replies[name][n]
	}
	return nil
}

// chunk is one of a stream, with its parts as JSON; finish ends it, if it is not empty.
func chunk(finish string, parts ...string) string {
	if finish != "" {
		finish = `"finishReason":"` + finish + `",`
	}
	return `{"candidates":[{` + finish + `"index":0,"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]}}],` +
		`"modelVersion":"gemini-2.5-pro","usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":5,"totalTokenCount":105}}`
}

func call(t *testing.T, tool string, args map[string]any) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"functionCall": map[string]any{"name": tool, "args": args}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
