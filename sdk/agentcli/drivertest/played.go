package drivertest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var played = regexp.MustCompile(`PLAY\[([a-z-]+)\]`)

// sided is in requests of a CLI that are beside the conversation.
var sided = regexp.MustCompile(`"responseMimeType"|"json_schema"`)

// Played starts a server before a fake model until the test ends, and returns its address. Requests that hold PLAY[name], and are no
// side questions, get the answers of that name, one after the other; all else the fake model answers.
func Played(tb testing.TB, answers map[string][]http.HandlerFunc) string {
	tb.Helper()
	behind, err := url.Parse(StartModel(tb).URL)
	if err != nil {
		tb.Fatal(err)
	}
	var mu sync.Mutex
	asked := map[string]int{}
	next := func(path string, body []byte) http.HandlerFunc {
		names := played.FindAllSubmatch(body, -1)
		if len(names) == 0 || strings.HasSuffix(path, ":generateContent") || sided.Match(body) {
			return nil
		}
		name := string(names[len(names)-1][1])
		mu.Lock()
		defer mu.Unlock()
		n := asked[name]
		asked[name]++
		if n < len(answers[name]) {
			return answers[name][n]
		}
		return nil
	}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if answer := next(r.URL.Path, body); answer != nil {
			answer(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	tb.Cleanup(server.Close)
	return server.URL
}
