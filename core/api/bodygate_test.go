package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/coretest"
)

// sendMost begins a request of 10 MiB and does not end it. It returns the connection, and the answer, if there is one before the end.
func sendMost(t *testing.T, address string, answered chan<- *http.Response) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		fmt.Fprintf(conn, "POST /api/patterns/a/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", 10<<20)
		_, _ = conn.Write(bytes.Repeat([]byte(" "), 10<<20-1)) // it fails once the server does not want it
	}()
	go func() {
		if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			answered <- answer
		}
	}()
	return conn
}

// A client that sends many large bodies, and does not end them, is refused more, and its small ones still pass. What it sent is forgotten
// when it leaves.
func TestBodiesAtOnce(t *testing.T) {
	r := newRig(t)
	answered := make(chan *http.Response, 16)
	for range 16 { // 160 MiB, of which 128 may be
		defer sendMost(t, strings.TrimPrefix(r.http.URL, "http://"), answered).Close()
	}
	coretest.WaitFor(t, "an answer", func() bool { return len(answered) > 0 })
	answer := <-answered
	defer answer.Body.Close()
	var text bytes.Buffer
	_, _ = text.ReadFrom(answer.Body)
	if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" || !answer.Close || !strings.Contains(text.String(), `"by":"client"`) {
		t.Errorf("%d %v %s", answer.StatusCode, answer.Header, &text)
	}
	if bytes, clients := r.server.Sending(); bytes > 128<<20 || clients > 1 {
		t.Errorf("%d bytes of %d clients are counted", bytes, clients)
	}
	r.do("POST", "/api/patterns/a/execute", `{"input":{"text":"`+strings.Repeat("x", 60<<10)+`"}}`).wants(t, 200, "")
}

// What was counted of bodies is given back, whether they arrive or not.
func TestBodiesAreGivenBack(t *testing.T) {
	r := newRig(t)
	answered := make(chan *http.Response, 1)
	conn := sendMost(t, strings.TrimPrefix(r.http.URL, "http://"), answered)
	coretest.WaitFor(t, "a body to be counted", func() bool { n, _ := r.server.Sending(); return n > 1<<20 })
	conn.Close()
	r.do("POST", "/api/patterns/a/execute", `{"input":{"text":"`+strings.Repeat("x", 4<<20)+`"}}`).wants(t, 200, "")
	r.do("POST", "/api/patterns/a/execute", `{"input":{"text":"`+strings.Repeat("x", 500<<10)+`"}}`).wants(t, 200, "")
	r.do("POST", "/api/patterns/a/execute", strings.Repeat(" ", 11<<20)).wants(t, 413, core.CodeValidation)
	coretest.WaitFor(t, "all to be given back", func() bool { n, clients := r.server.Sending(); return n == 0 && clients == 0 })
}

// A client has its share, all together have four of them, and two bodies of the largest size are a share in any case.
func TestBodyShares(t *testing.T) {
	var g api.BodyGate
	const share = 128 << 20
	for i := range 4 {
		client := fmt.Sprint("client ", i)
		if err := g.Take(client, share, 10<<20); err != nil {
			t.Fatal(err)
		}
		if err := g.Take(client, 1, 10<<20); core.ErrorCode(err) != core.CodeRateLimited {
			t.Errorf("more than a share: %v", err)
		}
	}
	if err := g.Take("another", 1, 10<<20); !core.AsError(err).Unavailable {
		t.Errorf("more than all shares: %v", err)
	}
	g.Give("client 0", share)
	if err := g.Take("another", 1, 10<<20); err != nil {
		t.Error(err)
	}
	if err := g.Take("client 0", 2<<30, 1<<30); err != nil {
		t.Errorf("two of the largest bodies: %v", err)
	}
}

// What strangers send to sign in is small, and takes no share of what all may send.
func TestBodyOfStrangers(t *testing.T) {
	newRig(t).do("POST", "/auth/cli", strings.Repeat(" ", 1<<20)).wants(t, 413, core.CodeValidation)
}
