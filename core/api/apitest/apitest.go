// Package apitest holds the API to its word: an http.RoundTripper that fails a test on any answer that the
// served OpenAPI document does not describe.
//
// It owns the comparison only and is imported by tests only: those of core/api, and end-to-end tests that
// talk to a running service.
package apitest

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"testing"
)

// documentPath is where the document is served.
const documentPath = "/api/openapi.json"

// Wrap returns a transport that checks every answer from baseURL (scheme and host). The document is read
// through next before Wrap returns. It is safe for concurrent use, as long as requests end before the test.
func Wrap(tb testing.TB, next http.RoundTripper, baseURL string) http.RoundTripper {
	tb.Helper()
	req, err := http.NewRequest(http.MethodGet, baseURL+documentPath, nil)
	if err != nil {
		tb.Fatalf("apitest: %v", err)
	}
	req.Header.Set("Accept-Encoding", "identity") // to pack and unpack it costs more than to read it
	resp, err := next.RoundTrip(req)
	if err != nil {
		tb.Fatalf("apitest: read the document: %v", err)
	}
	defer resp.Body.Close()
	doc, err := parseOnce(resp.Body)
	if err != nil {
		tb.Fatalf("apitest: the document is unsound: %v", err)
	}
	return &transport{tb: tb, next: next, doc: doc}
}

// parsed holds the documents that Wrap has read, by their text: to compile the schemas of one takes longer than most of
// the tests that look at it, and nearly all of these look at the same.
var parsed sync.Map

// parseOnce is Parse, but for a document that was read before.
func parseOnce(r io.Reader) (*Document, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if doc, ok := parsed.Load(string(text)); ok {
		return doc.(*Document), nil
	}
	doc, err := Parse(bytes.NewReader(text))
	if err == nil {
		parsed.Store(string(text), doc)
	}
	return doc, err
}

type transport struct {
	tb   testing.TB
	next http.RoundTripper
	doc  *Document
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.tb.Helper()
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	if err := t.check(req, resp); err != nil {
		t.tb.Errorf("apitest: %s %s answered %d: %v", req.Method, req.URL.RequestURI(), resp.StatusCode, err)
	}
	return resp, nil
}

// check compares an answer with the document. A JSON body is read and put back; a stream is not touched.
func (t *transport) check(req *http.Request, resp *http.Response) error {
	for _, name := range []string{"X-Content-Type-Options"} {
		if resp.Header.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	if req.Method == http.MethodOptions || req.Method == http.MethodHead {
		return nil
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/json" {
		return t.doc.Check(req.Method, req.URL.EscapedPath(), resp.StatusCode, media, nil)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return t.doc.Check(req.Method, req.URL.EscapedPath(), resp.StatusCode, media, body)
}
