package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// TestNoUserDataInTheLog: what callers and agents send is not in the log at its most talkative, whether it is taken, refused,
// too large for a request, or too large for one commit of the store.
func TestNoUserDataInTheLog(t *testing.T) {
	const canary = "c4naryq7x"
	s := serve(t, "log.level: trace\nserver.maxBody: 96MiB\nagents.maxMessage: 64KiB\nengine.maxQueuedBytes: 200MiB")
	s.put(single, "p", "p")
	s.join(1, "p", func(context.Context, int, *agent.Task) (any, error) {
		return map[string]any{"answer": canary + " result"}, nil
	})
	const run = "/api/patterns/p/execute"
	long := func(n int) io.Reader { return io.LimitReader(repeated(canary+" "), int64(n)) }
	whole := func(parts ...io.Reader) io.Reader { return io.MultiReader(parts...) }
	text := func(s string) io.Reader { return strings.NewReader(s) }
	for _, c := range []struct {
		name, path, media string
		body              io.Reader
		status            int
		header            []string
	}{
		{"taken", run, "application/json", text(`{"input":{"x":"` + canary + `"},"options":{"metadata":{"k":"` + canary + `"}}}`), 200,
			[]string{"X-Custom", canary, "User-Agent", canary, "Idempotency-Key", canary}},
		{"no JSON", run, "application/json", text(`{"input":"` + canary), 400, nil},
		{"unknown field", run, "application/json", text(`{"` + canary + `":1}`), 400, nil},
		{"wrong type", run, "application/json", text(`{"options":{"priority":"` + canary + `"}}`), 400, nil},
		{"media type", run, "text/" + canary, text(canary), 415, nil},
		{"request id", run, "application/json", text(`{"input":{}}`), 200, []string{"X-Request-Id", canary + " " + canary}},
		{"query", run + "?async=" + canary, "application/json", text(`{"input":{}}`), 400, nil},
		{"path", "/api/" + canary, "application/json", text(`{}`), 404, nil},
		{"name", "/api/patterns/" + canary + "/execute", "application/json", text(`{"input":{}}`), 404, nil},
		{"definition", "/api/patterns", "application/x-yaml", text("name: x\nversion: 1.0.0\n" + canary + ": {" + canary), 400, nil},
		{"host", run, "application/json", text(`{"input":{}}`), 403, []string{"Origin", "https://" + canary + ".example"}},
		{"body too large", run, "application/json", whole(text(`{"input":{"x":"`), long(100<<20), text(`"}}`)), 413, nil},
		{"closure of many megabytes", "/api/batch/execute", "application/json",
			whole(text(`{"pattern":"none-such","inputs":[{"x":"`), long(70<<20), text(`"}]}`)), 404, nil},
		{"closure beyond the database's batch", "/api/batch/execute", "application/json",
			whole(text(`{"pattern":"p","inputs":[{"x":"`), long(35<<20), text(`"},{"x":"`), long(35<<20), text(`"}]}`)), 202, nil},
	} {
		a := s.do("POST", c.path, c.media, c.body, c.header...)
		if a.status != c.status {
			t.Errorf("%s: status %d, want %d", c.name, a.status, c.status)
		}
	}

	// Frames of agents, those that are no frames among them.
	w := s.dial()
	w.send(protocol.TypeRegister, canary, map[string]any{"name": "other", "capabilities": []string{"other"}, "metadata": map[string]any{"k": canary}})
	w.expect(protocol.TypeRegistered, new(any))
	w.raw(websocket.TextMessage, `{"type":"`+canary+`","id":"`+canary+`","payload":{"`+canary+`":1}}`)
	w.expect(protocol.TypeError, new(any))
	w.raw(websocket.TextMessage, canary)
	w.expect(protocol.TypeError, new(any))
	w.send(protocol.TypeTaskResult, "r", map[string]any{"taskId": "task_" + canary, "executionId": canary, "status": canary, "result": canary})
	w.expect(protocol.TypeError, new(any))
	w.raw(websocket.TextMessage, `{"type":"task_result","payload":{"result":"`+strings.Repeat(canary, 10000)+`"}}`)

	s.stop()
	log := s.log.String()
	if n := strings.Count(log, "request refused"); n < 10 {
		t.Errorf("the log has %d lines of refused requests", n)
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, canary) {
			t.Errorf("the log has %.300s", line)
		}
	}
}

// repeated is a text without an end.
type repeated string

func (r repeated) Read(p []byte) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], r)
	}
	return n, nil
}

// TestListsStaySmall: lists of executions and batches whose inputs and results are large are read at once by many, and the
// server needs little for it.
func TestListsStaySmall(t *testing.T) {
	const each, count, most = 9 << 20, 4, 96 << 20 // five times the results of one kind are far beyond what is allowed
	s := serve(t, "agents.maxMessage: 16MiB\nagents.sendBuffer: 64MiB")
	s.put(single, "p", "p")
	result := strings.Repeat("x", each)
	s.join(1, "p", func(context.Context, int, *agent.Task) (any, error) { return map[string]any{"answer": result}, nil })
	for range count {
		s.settled(s.async("p", number(1)))
	}
	s.batch("p", count, 1)

	s.restart() // what the executions took is no room for the lists
	// The process's largest size counts from here on.
	pid := s.process.Cmd.Process.Pid
	before := residentBytes(t, pid)
	resetPeak(t, pid)
	failed := make(chan error, 5)
	for i := range cap(failed) {
		path := []string{"/api/executions?limit=100", "/api/batches?limit=100"}[i%2]
		go func() {
			for range 10 {
				resp, err := http.Get(s.url + path)
				if err != nil {
					failed <- err
					return
				}
				n, err := io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK || n > 1<<20 {
					failed <- fmt.Errorf("%s: %d, %d bytes, %w", path, resp.StatusCode, n, err)
					return
				}
			}
			failed <- nil
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	grown := peakBytes(t, pid) - before
	t.Logf("five lists at once took %d MiB beyond the %d of before", grown>>20, before>>20)
	if grown > most {
		t.Errorf("five lists at once took %d MiB", grown>>20)
	}
}
