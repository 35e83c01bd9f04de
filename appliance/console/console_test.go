package console_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/console"
)

// next stands in for the API.
var next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusTeapot)
	_, _ = io.WriteString(w, r.URL.Path)
})

func request(method, path string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func serve(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func TestWhoGetsThePage(t *testing.T) {
	h := console.New(next, console.Options{})
	for _, c := range []struct {
		name, method, path, accept string
		page                       bool
	}{
		{"root", "GET", "/", browser, true},
		{"screen", "GET", "/executions/exec_1?tab=data", browser, true},
		{"name with a slash", "GET", "/patterns/a%2Fb", browser, true},
		{"head", "HEAD", "/", browser, true},
		{"curl", "GET", "/", "*/*", false},
		{"no accept", "GET", "/", "", false},
		{"json", "GET", "/executions", "application/json", false},
		{"api", "GET", "/api/executions", browser, false},
		{"api itself", "GET", "/api", browser, false},
		{"auth", "GET", "/auth/login", browser, false},
		{"docs", "GET", "/docs/", browser, false},
		{"not api", "GET", "/apiary", browser, true},
		{"post", "POST", "/", browser, false},
		{"unknown asset", "GET", "/assets/x/main.js", browser, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := serve(h, request(c.method, c.path, "Accept", c.accept))
			if got := r.StatusCode == http.StatusOK; got != c.page {
				t.Errorf("status is %d, want the page: %v", r.StatusCode, c.page)
			}
		})
	}
}

func TestForeignHostGoesOn(t *testing.T) {
	h := console.New(next, console.Options{Serves: func(*http.Request) bool { return false }})
	if r := serve(h, request("GET", "/", "Accept", browser)); r.StatusCode != http.StatusTeapot {
		t.Errorf("status is %d, want that of the API", r.StatusCode)
	}
}

// The page runs nothing but its own files, and has nothing inline.
func TestPolicy(t *testing.T) {
	r := serve(console.New(next, console.Options{}), request("GET", "/", "Accept", browser))
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
			"worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
			"require-trusted-types-for 'script'; trusted-types wardroom",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(r.Header.Get("Permissions-Policy"), "clipboard-write=(self)") {
		t.Error("the page may not write the clipboard")
	}
	page := text(t, r)
	if found := regexp.MustCompile(`(?i)<script(?:[^>]*)>[^<]|<style|style=|\son\w+=|https?://`).FindString(page); found != "" {
		t.Errorf("the page has %q in it", found)
	}
}

// Every address of the page has the prefix.
func TestPrefix(t *testing.T) {
	h := console.New(next, console.Options{Prefix: "/a/b"})
	for _, path := range []string{"/", "/inbox"} {
		page := text(t, serve(h, request("GET", path, "Accept", browser)))
		if n := strings.Count(page, `="/a/b/assets/`); n != 4 {
			t.Errorf("GET %s: %d addresses of files lie below the path, want 4:\n%s", path, n, page)
		}
		if !strings.Contains(page, `<meta name="wardroom-base" content="/a/b">`) {
			t.Errorf("GET %s does not say its base", path)
		}
	}
	script := regexp.MustCompile(`src="/a/b(/[^"]*)"`).FindStringSubmatch(text(t, serve(h, request("GET", "/", "Accept", browser))))
	if r := serve(h, request("GET", script[1])); r.StatusCode != http.StatusOK {
		t.Errorf("the script answers %d", r.StatusCode)
	}
}

func TestPageIsNotSentTwice(t *testing.T) {
	h := console.New(next, console.Options{})
	tag := serve(h, request("GET", "/", "Accept", browser)).Header.Get("ETag")
	if r := serve(h, request("GET", "/", "Accept", browser, "If-None-Match", tag)); r.StatusCode != http.StatusNotModified {
		t.Errorf("status is %d", r.StatusCode)
	}
}

// sent returns what a browser gets of a file: how many bytes, and its text.
func sent(t *testing.T, h http.Handler, path string) (size int, body string) {
	t.Helper()
	r := serve(h, request("GET", path, "Accept-Encoding", "gzip, br"))
	if r.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d", path, r.StatusCode)
	}
	if cache := r.Header.Get("Cache-Control"); !strings.Contains(cache, "immutable") {
		t.Errorf("GET %s: Cache-Control is %q", path, cache)
	}
	raw := text(t, r)
	if r.Header.Get("Content-Encoding") != "gzip" {
		return len(raw), raw
	}
	z, err := gzip.NewReader(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return len(raw), string(plain)
}

var imported = regexp.MustCompile(`(?:from|import)\s*"\./([^"]+)"`)

// A first load is the page, its style, its scripts and the worker: at most 90 KiB on the wire in at most 6 requests.
func TestFirstLoadIsSmall(t *testing.T) {
	h := console.New(next, console.Options{})
	page := text(t, serve(h, request("GET", "/", "Accept", browser)))
	base := regexp.MustCompile(`name="wardroom-assets" content="([^"]+)"`).FindStringSubmatch(page)[1]
	total, seen := len(page), map[string]bool{}
	var load func(name string)
	load = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		size, body := sent(t, h, base+name)
		total += size
		for _, m := range imported.FindAllStringSubmatch(body, -1) {
			load(m[1])
		}
	}
	for _, name := range []string{"main.css", "main.js", "worker.js"} {
		load(name)
	}
	t.Logf("%d bytes in %d requests", total, len(seen)+1)
	if total > 90<<10 || len(seen)+1 > 6 {
		t.Errorf("a first load has %d bytes in %d requests (%v)", total, len(seen)+1, seen)
	}
}
