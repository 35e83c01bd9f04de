package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// harmless checks that an answer is JSON of the API and no failure of the server's own.
func (s *server) harmless(what string, a answer) {
	s.t.Helper()
	var f failure
	if err := json.Unmarshal(a.body, &f); err != nil {
		s.t.Errorf("%.200s: no JSON: %s", what, a)
		return
	}
	if a.status >= 500 && f.Error.Code != client.CodeNoAgents || a.status >= 400 && (f.RequestID == "" || f.Error.Code == "") {
		s.t.Errorf("%.200s: %s", what, a)
	}
}

var hostileNames = []string{
	"a/b", "../../etc/passwd", "..", ".", "a\x00b", "\x00", "名前", "🙂", "e\u0301", "\u202eevil", "a b", "a+b", "a%b", "%2F", "%00",
	"a\nb", "a\r\nSet-Cookie: x=1", "'; DROP TABLE patterns; --", "<script>alert(1)</script>", "${jndi:ldap://x}", "\xff\xfe",
	strings.Repeat("x", 10<<10), strings.Repeat("é", 5<<10), "-", "~", "con", "a\\b", "validate", "execute", "$input", "{name}", "*", "null",
}

// A hostile name is refused in words, or works in every operation.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := dev(t)
	works := 0
	for _, name := range hostileNames {
		escaped := url.PathEscape(name)
		if name == ".." || name == "." {
			escaped = strings.ReplaceAll(name, ".", "%2E")
		}
		quoted, err := json.Marshal(map[string]string{"name": name, "version": "1.0.0", "definition": strings.Replace(fmt.Sprintf(single, "x", "x"), "name: x\n", "", 1)})
		if err != nil {
			t.Fatal(err)
		}
		created := s.post("/api/patterns", string(quoted))
		s.harmless("create "+name, created)
		got := s.read("/api/patterns/" + escaped)
		s.harmless("get "+name, got)
		if created.status == http.StatusCreated && name != "\xff\xfe" { // that is another name once it is JSON
			works++
			var p struct{ Name string }
			if got.status != 200 || json.Unmarshal(got.body, &p) != nil || p.Name != name {
				t.Errorf("%.60q was created, but reads %s", name, got)
			}
			if at := s.read(created.header.Get("Location")); string(at.body) != string(got.body) {
				t.Errorf("%.60q: its Location %q answers %s", name, created.header.Get("Location"), at)
			}
		}
		for _, path := range []string{"/versions", "?version=" + url.QueryEscape(name)} {
			s.harmless(path+" of "+name, s.read("/api/patterns/"+escaped+path))
		}
		s.harmless("execute "+name, s.post("/api/patterns/"+escaped+"/execute", `{}`))
		s.harmless("filter "+name, s.read("/api/executions?pattern="+url.QueryEscape(name)))
		s.harmless("search "+name, s.read("/api/patterns?search="+url.QueryEscape(name)))
		s.harmless("delete "+name, s.do("DELETE", "/api/patterns/"+escaped, "", nil))
		for _, resource := range []string{"executions", "batch", "agents"} {
			s.harmless(resource+" "+name, s.read("/api/"+resource+"/"+escaped))
		}
	}
	if works == 0 {
		t.Error("not one of the names works, not even a plain one")
	}
}

// Bodies that mean harm are refused before they cost anything.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	s := dev(t)
	s.put(single, "p", "p")
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, body := range map[string]string{
		"Deep":          `{"input":{"x":` + deep(100000) + `}}`,
		"DeepObjects":   `{"input":` + strings.Repeat(`{"a":`, 50000) + `1` + strings.Repeat(`}`, 50000) + `}`,
		"DuplicateKeys": `{"input":{},"input":{"a":1}}`,
		"Trailing":      `{"input":{}}{"input":{}}`,
		"NotUTF8":       "{\"input\":{\"a\":\"\xff\xfe\"}}",
		"NUL":           "{\"input\":{\"a\":\"\x00\"}}",
		"ByteOrderMark": "\ufeff{}",
		"Number":        `{"input":{"a":1e999999}}`,
		"LoneSurrogate": `{"input":{"a":"\ud800"}}`,
		"Array":         `[]`,
		"Null":          `null`,
		"Text":          `"text"`,
		"NullInput":     `{"input":null}`,
		"BigTimeout":    `{"options":{"timeout":9223372036854775807}}`,
		"Prototype":     `{"__proto__":{"a":1}}`,
		"CaseOfKeys":    `{"Input":{}}`,
	} {
		a := s.post("/api/patterns/p/execute?async=true", body)
		s.harmless(name, a)
		refusable := name != "Number" && name != "LoneSurrogate" && name != "NullInput" && name != "Null" && name != "BigTimeout"
		if refusable && a.status != http.StatusBadRequest {
			t.Errorf("%s: %s", name, a)
		}
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'l'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	begin := time.Now()
	for name, text := range map[string]string{
		"Bomb": bomb, "DeepYAML": strings.Repeat("[", 50000), "Tag": "!!python/object:os.system x", "Binary": "\x00\x01\x02",
		"Regexp": "name: r\nversion: 1.0.0\ninput:\n  a: {type: string, pattern: '(a+)+$('}\n",
	} {
		a := s.do("POST", "/api/patterns", "application/x-yaml", strings.NewReader(text))
		s.harmless(name, a)
		if a.status != http.StatusBadRequest {
			t.Errorf("%s: %s", name, a)
		}
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("hostile definitions took %s", took)
	}
	for range 3 { // a body over the limit, whose length is not told
		a := s.do("POST", "/api/patterns/p/execute", "application/json", io.MultiReader(strings.NewReader(`{"input":{"x":"`), io.LimitReader(endless{}, 11<<20)))
		s.failed(a, http.StatusRequestEntityTooLarge, client.CodeValidation)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Random queries and methods are refused or answered, never more.
func TestHostileQueries(t *testing.T) {
	t.Parallel()
	s := dev(t)
	s.put(single, "p", "p")
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"limit", "offset", "cursor", "since", "until", "status", "pattern", "search", "version", "async", "detailed", "x", "", "limit[]", "%zz"}
	values := []string{"0", "-1", "1", "100", "101", "1e9", "99999999999999999999", "abc", "", "%00", "%ff", "null", "true", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", strings.Repeat("9", 2000), "completed", "../..", "%2e%2e%2f"}
	paths := []string{"/api/patterns", "/api/executions", "/api/agents", "/api/patterns/p", "/api/health", "/api/executions/x/events", "/api/patterns/p/versions"}
	for range 600 {
		query := ""
		for range random.IntN(4) {
			query += "&" + names[random.IntN(len(names))] + "=" + values[random.IntN(len(values))]
		}
		path := paths[random.IntN(len(paths))] + "?" + strings.TrimPrefix(query, "&")
		s.harmless(path, s.raw("GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
	}
	for _, method := range []string{"TRACE", "CONNECT", "PROPFIND", "get", "X", "PURGE", strings.Repeat("M", 500)} {
		a := s.raw(method + " /api/patterns HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if a.status < 400 || a.status >= 500 {
			t.Errorf("%.40s: %s", method, a)
		}
	}
}

// raw sends bytes and reads one answer.
func (s *server) raw(text string) answer {
	s.t.Helper()
	conn, err := net.DialTimeout("tcp", s.addr, patience)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("%.200q: %v", text, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, body}
}

// Requests whose end two parsers could see at two places are refused, and nothing behind them is run.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	s := dev(t)
	definition := fmt.Sprintf(single, "hidden", "x")
	hidden := fmt.Sprintf("POST /api/patterns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-yaml\r\nContent-Length: %d\r\n\r\n%s",
		len(definition), definition)
	for name, head := range map[string]string{
		"LengthAndChunks":  "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
		"TwoLengths":       "Content-Length: 4\r\nContent-Length: 5\r\n",
		"BadLength":        "Content-Length: +4\r\n",
		"HexLength":        "Content-Length: 0x4\r\n",
		"UnknownEncoding":  "Transfer-Encoding: xchunked\r\n",
		"TwoEncodings":     "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"SpaceBeforeColon": "Content-Length : 4\r\n",
		"NULInHeader":      "X-A: a\x00b\r\n",
		"NoHost":           "",
	} {
		host := "Host: localhost\r\n"
		if name == "NoHost" {
			host = ""
		}
		a := s.raw("POST /api/batch/execute HTTP/1.1\r\n" + host + "Content-Type: application/json\r\n" + head + "\r\n0\r\n\r\n" + hidden)
		if a.status < 400 || a.status > 501 || a.status == 500 {
			t.Errorf("%s: %s", name, a)
		}
	}
	s.put(single, "none", "none")
	over := s.async("none", nil, client.ExecuteOptions{Timeout: time.Millisecond})
	s.settled(over)
	if a := s.raw("GET /api/executions/" + over + "/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden); a.status != 200 {
		t.Errorf("a stream: %s", a)
	}
	if a := s.raw("GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Large: " + strings.Repeat("x", 80<<10) + "\r\n\r\n"); a.status != 431 {
		t.Errorf("a large header: %s", a)
	}
	if a := s.read("/api/patterns/hidden"); a.status != 404 {
		t.Errorf("a hidden request was run: %s", a)
	}
	if a := s.raw(strings.Replace(hidden, "Host: localhost", "Host: localhost\r\nConnection: close", 1)); a.status != 201 {
		t.Errorf("the same request in the open: %s", a)
	}
}
