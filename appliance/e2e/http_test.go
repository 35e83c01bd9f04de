package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// answer is an HTTP answer, read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %.600s", a.status, a.body) }

// failure is the error body.
type failure struct {
	Error struct {
		Code    string
		Message string
		Details map[string]any
	}
	RequestID string
}

// do sends one request over the checked transport.
func (s *server) do(method, path, contentType string, body io.Reader, header ...string) answer {
	s.t.Helper()
	got, err := s.try(method, path, contentType, body, header...)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func (s *server) try(method, path, contentType string, body io.Reader, header ...string) (answer, error) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, body)
	if err != nil {
		return answer{}, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	return answer{resp.StatusCode, resp.Header, text}, nil
}

// postBeside posts beside the test. Where no answer comes the test fails, and the answer is empty.
func (s *server) postBeside(path, body string, header ...string) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		a, err := s.try(http.MethodPost, path, "application/json", strings.NewReader(body), header...)
		if err != nil {
			s.t.Error(err)
		}
		got <- a
	}()
	return got
}

func (s *server) post(path, body string, header ...string) answer {
	s.t.Helper()
	return s.do(http.MethodPost, path, "application/json", bytes.NewReader([]byte(body)), header...)
}

func (s *server) read(path string, header ...string) answer {
	s.t.Helper()
	return s.do(http.MethodGet, path, "", nil, header...)
}

// failed decodes an error answer; it must be whole.
func (s *server) failed(a answer, status int, code string) failure {
	s.t.Helper()
	var f failure
	if err := json.Unmarshal(a.body, &f); err != nil {
		s.t.Fatalf("no JSON: %v in %s", err, a)
	}
	if a.status != status || f.Error.Code != code || f.Error.Message == "" || f.Error.Details == nil || f.RequestID == "" {
		s.t.Fatalf("answer %s; want %d %s", a, status, code)
	}
	if f.RequestID != a.header.Get("X-Request-Id") {
		s.t.Fatalf("requestId %s in the body, %s in the header", f.RequestID, a.header.Get("X-Request-Id"))
	}
	return f
}
