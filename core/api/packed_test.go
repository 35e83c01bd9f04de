package api_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// TestEntityTag: who has an answer already gets none; whoever has another version gets it.
func TestEntityTag(t *testing.T) {
	r := newRig(t)
	version := "1.0.0"
	r.patterns.find = func(string, string) (*core.Pattern, error) { return somePattern("a", version), nil }
	first := r.do("GET", "/api/patterns/a", "")
	tag := first.header.Get("ETag")
	if !strings.HasPrefix(tag, `W/"`) {
		t.Fatalf("tag %q", tag)
	}
	for _, have := range []string{tag, strings.TrimPrefix(tag, "W/"), `"other", ` + tag, "*"} {
		if again := r.do("GET", "/api/patterns/a", "", "If-None-Match: "+have); again.status != http.StatusNotModified || again.text != "" || again.header.Get("ETag") != tag {
			t.Errorf("%s: %d %q %q", have, again.status, again.text, again.header.Get("ETag"))
		}
	}
	version = "1.0.1"
	if changed := r.do("GET", "/api/patterns/a", "", "If-None-Match: "+tag); changed.status != http.StatusOK || changed.header.Get("ETag") == tag {
		t.Errorf("%d %q", changed.status, changed.header.Get("ETag"))
	}
	r.patterns.find = func(string, string) (*core.Pattern, error) { return nil, core.Errorf(core.CodeNotFound, "no") }
	if gone := r.do("GET", "/api/patterns/a", "", "If-None-Match: *"); gone.status != http.StatusNotFound || gone.header.Get("ETag") != "" {
		t.Errorf("%d %q", gone.status, gone.header.Get("ETag"))
	}
}

// TestPackedAnswer: a large answer is compressed for those that ask for it, and no other is.
func TestPackedAnswer(t *testing.T) {
	r := newRig(t)
	text := strings.Repeat("a long text ", 500)
	r.patterns.find = func(string, string) (*core.Pattern, error) {
		p := somePattern("a", "1.0.0")
		p.Source = text
		return p, nil
	}
	for _, tt := range []struct {
		accepts string
		packed  bool
	}{{"gzip", true}, {"br, gzip;q=0.5", true}, {"identity", false}, {"gzip;q=0", false}, {"gzip; q=0.0", false}, {"gzip;Q=0.", false}, {"gzip;q=0, *", false},
		{"*, gzip;q=0.00", false}, {"*;q=0", false}, {"*", true}, {"br, GZIP;q=0.001", true}, {"gzip;q=odd", false}} {
		got := plain(t, r, tt.accepts)
		body := got.text
		if packed := got.header.Get("Content-Encoding") == "gzip"; packed != tt.packed || got.header.Get("Vary") == "" {
			t.Errorf("%s: %v, Vary %q", tt.accepts, got.header["Content-Encoding"], got.header.Get("Vary"))
		} else if packed {
			unpacked, err := gzip.NewReader(strings.NewReader(got.text))
			if err != nil {
				t.Fatal(err)
			}
			whole, err := io.ReadAll(unpacked)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.text) > len(whole)/5 {
				t.Errorf("%d bytes of %d", len(got.text), len(whole))
			}
			body = string(whole)
		}
		if !strings.Contains(body, text) {
			t.Errorf("%s: %.80q", tt.accepts, body)
		}
	}
	text = ""
	if small := plain(t, r, "gzip"); small.header.Get("Content-Encoding") != "" {
		t.Error("a small answer is compressed")
	}
}

// plain reads a pattern as it comes, compressed or not.
func plain(t *testing.T, r *rig, accepts string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.http.URL+"/api/patterns/a", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", accepts)
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{status: resp.StatusCode, header: resp.Header, text: string(text)}
}
