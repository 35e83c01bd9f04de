package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/wardroom/wardroom/scripts/testbed"
)

// readPattern compares GET pattern with a bare gin handler that returns the same bytes, in turns.
func (b *bench) readPattern(ctx context.Context) error {
	s, err := b.serve(ctx, "")
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.storePattern(ctx, echoPattern); err != nil {
		return err
	}
	const path = "/api/patterns/bench-echo"
	body, err := get(ctx, s.URL+path)
	if err != nil {
		return err
	}
	bare, err := b.bareGin(path, body)
	if err != nil {
		return err
	}
	defer bare.Close()
	req := request{method: http.MethodGet, path: path, body: nil, want: http.StatusOK}
	var ours, theirs float64
	for range 3 { // in turns, so that a change of the machine's load meets both
		a, err := fire(ctx, s.Host, 16, b.span(2*time.Second), req)
		if err != nil {
			return err
		}
		c, err := fire(ctx, bare.Host, 16, b.span(2*time.Second), req)
		if err != nil {
			return err
		}
		ours, theirs = max(ours, a.perSecond()), max(theirs, c.perSecond())
	}

	b.add("read", "GET pattern, 16 clients", ours, "%.0f/s", 0, false, "")
	b.add("read", "GET pattern against bare gin", ours/theirs, "%.2f", 0.5, false, fmt.Sprintf("bare gin %.0f/s (in the load's own process)", theirs))
	return nil
}

func (b *bench) bareGin(path string, body []byte) (*testbed.Receiver, error) {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET(path, func(c *gin.Context) { c.Data(http.StatusOK, "application/json; charset=utf-8", body) })
	return testbed.Receive(router)
}

// streamFanOut opens 1,000 streams on one execution that waits for agents, then lets it run, and checks
// that every stream got every event in order.
func (b *bench) streamFanOut(ctx context.Context) error {
	s, err := b.serve(ctx, "")
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.storePattern(ctx, echoPattern); err != nil {
		return err
	}
	started, err := s.Client.ExecuteAsync(ctx, echo)
	if err != nil {
		return err
	}
	const viewers = 1000
	var open, wg sync.WaitGroup
	var mu sync.Mutex
	whole, broken := 0, ""
	var last time.Time
	open.Add(viewers)
	for range viewers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			got, err := watch(ctx, s.Host, started.ExecutionID, open.Done)
			mu.Lock()
			defer mu.Unlock()
			if want := "started agent_result agent_result agent_result completed"; err == nil && got == want {
				whole++
				last = time.Now()
			} else if broken == "" {
				broken = fmt.Sprintf("a stream gave %q, %v", got, err)
			}
		}()
	}
	open.Wait()
	begun := time.Now()
	agents, err := b.echoAgents(ctx, s)
	if err != nil {
		return err
	}
	defer stop(agents)
	wg.Wait()
	b.add("stream", "of 1,000 streams, those that got every event", float64(whole), "%.0f", viewers, false, "")
	b.add("stream", "agents started to last stream ended", last.Sub(begun).Seconds()*1000, "%.0f ms", 0, true, "")
	if broken != "" {
		return fmt.Errorf("%s", broken)
	}
	return nil
}

// watch reads an execution's stream to its end and returns the event names.
func watch(ctx context.Context, host, id string, opened func()) (string, error) {
	done := sync.OnceFunc(opened)
	defer done()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	fmt.Fprintf(conn, "GET /api/executions/%s/stream HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n", id, host)
	in := bufio.NewReaderSize(conn, 4096)
	var names []string
	for {
		line, err := in.ReadString('\n')
		if strings.HasPrefix(line, "HTTP/1.1 ") {
			if !strings.HasPrefix(line, "HTTP/1.1 200") {
				return "", fmt.Errorf("%s", strings.TrimSpace(line))
			}
			done()
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			names = append(names, strings.TrimSpace(name))
		}
		if err == io.EOF {
			return strings.Join(names, " "), nil
		}
		if err != nil {
			return strings.Join(names, " "), err
		}
	}
}
