// Package search is a server for tests with the part of Elasticsearch's interface that the sink uses, written from its
// public documentation: index templates, and bulk requests into data streams. It refuses what the real one refuses, and
// fails on demand. It owns no index: it keeps the documents.
package search

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/sdk/plugintest"
)

// User and Password are what the server wants.
const (
	User     = "wardroom"
	Password = "correct horse"
)

// Server is a running server. Its fields may be changed with Change.
type Server struct {
	server *httptest.Server

	mu        sync.Mutex // guards all below
	templates map[string]bool
	ids       map[string]bool
	docs      []map[string]json.RawMessage

	Down      bool                  // 503 to everything
	Full      int                   // so many documents are taken of a request, the others are 429
	Refuses   func(doc []byte) bool // documents that do not fit the mapping
	RefusesAs string                // type of their error; empty: that of a document that cannot be read
	Whole     bool                  // a request with one of them is refused as a whole
	Kind      string                // every document is refused with 400 and an error of this type
	Cause     string                // type of its cause, if it has one
	Largest   int                   // bytes of the largest body that is taken; 0: any
	Blocks    func(body []byte) int // status that a firewall before it answers with; 0: it lets the request through
	Requests  int
}

// Start runs one until the end of the test.
func Start(tb testing.TB) *Server {
	s := &Server{templates: map[string]bool{}, ids: map[string]bool{}}
	s.server = httptest.NewServer(s)
	tb.Cleanup(s.server.Close)
	return s
}

// URL returns the address.
func (s *Server) URL() string { return s.server.URL }

// Change lets fn change the fields.
func (s *Server) Change(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// Records returns event.original of each document, in the order of arrival.
func (s *Server) Records() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list [][]byte
	for _, doc := range s.docs {
		var event struct {
			Original string `json:"original"`
		}
		if json.Unmarshal(doc["event"], &event) == nil {
			list = append(list, []byte(event.Original))
		}
	}
	return list
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Requests++
	w.Header().Set("Content-Type", "application/json")
	fail := func(status int, kind string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"type": kind, "reason": "a long text"}, "status": status})
	}
	if s.Down {
		fail(503, "cluster_block_exception")
		return
	}
	if user, password, ok := req.BasicAuth(); !ok || user != User || password != Password {
		fail(401, "security_exception")
		return
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, 100<<20))
	if err != nil {
		fail(400, "parse_exception")
		return
	}
	if s.Largest > 0 && len(body) > s.Largest { // as a proxy refuses it
		w.WriteHeader(413)
		return
	}
	if s.Blocks != nil && plugintest.Blocked(w, s.Blocks(body)) {
		return
	}
	if name, ok := strings.CutPrefix(req.URL.Path, "/_index_template/"); ok {
		s.template(w, req.Method, name, body, fail)
		return
	}
	if req.URL.Path != "/_bulk" || req.Method != http.MethodPost {
		fail(405, "method_not_allowed")
		return
	}
	switch kind := req.Header.Get("Content-Type"); {
	case kind != "application/x-ndjson" && kind != "application/json":
		fail(406, "media_type_header_exception")
	case len(body) == 0 || body[len(body)-1] != '\n':
		fail(400, "illegal_argument_exception") // the bulk request must be terminated by a newline
	default:
		s.bulk(w, body, fail)
	}
}

func (s *Server) template(w http.ResponseWriter, method, name string, body []byte, fail func(int, string)) {
	switch method {
	case http.MethodGet:
		if !s.templates[name] {
			fail(404, "resource_not_found_exception")
			return
		}
		_, _ = io.WriteString(w, `{"index_templates":[]}`)
	case http.MethodPut:
		var t struct {
			Patterns   []string        `json:"index_patterns"`
			DataStream json.RawMessage `json:"data_stream"`
			Priority   int             `json:"priority"`
			Template   json.RawMessage `json:"template"`
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(&t); err != nil || len(t.Patterns) == 0 || t.DataStream == nil {
			fail(400, "x_content_parse_exception")
			return
		}
		s.templates[name] = true
		_, _ = io.WriteString(w, `{"acknowledged":true}`)
	}
}

// bulk takes pairs of lines: an action, and a document.
func (s *Server) bulk(w http.ResponseWriter, body []byte, fail func(int, string)) {
	lines := bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
	if len(lines)%2 != 0 {
		fail(400, "illegal_argument_exception")
		return
	}
	for i := 1; s.Whole && i < len(lines); i += 2 {
		if s.Refuses(lines[i]) {
			fail(400, "action_request_validation_exception")
			return
		}
	}
	var items []map[string]any
	errors := false
	for i := 0; i < len(lines); i += 2 {
		var action map[string]struct {
			Index string `json:"_index"`
			ID    string `json:"_id"`
		}
		if err := json.Unmarshal(lines[i], &action); err != nil || len(action) != 1 {
			fail(400, "illegal_argument_exception")
			return
		}
		for op, at := range action {
			status, kind := s.put(op, at.Index, at.ID, lines[i+1])
			if s.Full > 0 && i/2 >= s.Full {
				status, kind = 429, "es_rejected_execution_exception"
			}
			result := map[string]any{"_index": at.Index, "status": status}
			if kind != "" {
				errors = true
				e := map[string]any{"type": kind, "reason": "a long text"}
				if s.Cause != "" {
					e["caused_by"] = map[string]any{"type": s.Cause, "reason": "a long text"}
				}
				result["error"] = e
			} else {
				s.ids[at.ID] = true
				var doc map[string]json.RawMessage
				_ = json.Unmarshal(lines[i+1], &doc)
				s.docs = append(s.docs, doc)
			}
			items = append(items, map[string]any{op: result})
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"took": 1, "errors": errors, "items": items})
}

// put says what becomes of a document.
func (s *Server) put(op, index, id string, line []byte) (status int, kind string) {
	var doc map[string]json.RawMessage
	switch {
	case s.Kind != "":
		return 400, s.Kind
	case !s.templates[index]:
		return 404, "index_not_found_exception"
	case op != "create": // only write ops with an op_type of create are allowed in data streams
		return 400, "illegal_argument_exception"
	case json.Unmarshal(line, &doc) != nil:
		return 400, "document_parsing_exception"
	case doc["@timestamp"] == nil: // data stream timestamp field is missing
		return 400, "document_parsing_exception"
	case s.Refuses != nil && s.Refuses(line):
		return 400, cmp.Or(s.RefusesAs, "document_parsing_exception")
	case id != "" && s.ids[id]:
		return 409, "version_conflict_engine_exception"
	}
	return 201, ""
}
