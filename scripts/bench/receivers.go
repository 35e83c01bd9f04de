package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// receiversMain is the process that plays the receivers of webhooks: each path is one. It parses no more than it must,
// so that it takes little of the machine.
func receiversMain(args []string) int {
	flags := flag.NewFlagSet("receivers", flag.ExitOnError)
	_ = flags.Parse(args) // ExitOnError
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "receivers:", err)
		return 1
	}
	r := &receivers{ctx: ctx}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	fmt.Println("ready: " + listener.Addr().String())
	var wg sync.WaitGroup
	for {
		conn, err := listener.Accept()
		if err != nil {
			break
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			r.serve(conn)
		}()
	}
	wg.Wait()
	return 0
}

// receivers counts what arrives.
type receivers struct {
	ctx  context.Context
	hold atomic.Bool // no request is answered

	mu    sync.Mutex // guards all below
	count int
	took  []time.Duration // since the time of the event
}

// received is what GET /stats tells, and begins anew.
type received struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"` // ms
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// hangTime is how long the receiver /hang takes to answer.
const hangTime = 30 * time.Second

func (r *receivers) serve(conn net.Conn) {
	defer conn.Close()
	release := context.AfterFunc(r.ctx, func() { _ = conn.Close() })
	defer release()
	in := bufio.NewReaderSize(conn, 4<<10)
	body := make([]byte, 0, 4<<10)
	for {
		path, length, err := readHead(in)
		if err != nil {
			return
		}
		body = slices.Grow(body[:0], length)[:length]
		for n := 0; n < length; {
			m, err := in.Read(body[n:])
			if err != nil {
				return
			}
			n += m
		}
		now := time.Now()
		switch {
		case path == "/hold" || path == "/release":
			r.hold.Store(path == "/hold")
		case path == "/stats":
			text, _ := json.Marshal(r.stats()) // numbers always have a JSON text
			if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text); err != nil {
				return
			}
			continue
		case path == "/hang":
			if !r.wait(hangTime, func() bool { return false }) {
				return
			}
		case path == "/well": // answers at once, and is not counted
		case r.hold.Load():
			if !r.wait(time.Hour, func() bool { return !r.hold.Load() }) {
				return
			}
		default:
			r.note(body, now)
		}
		if _, err := conn.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n")); err != nil {
			return
		}
	}
}

// wait returns true once d passed or over says so, false when the process ends.
func (r *receivers) wait(d time.Duration, over func() bool) bool {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end) && !over(); {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			return false
		}
	}
	return true
}

var timestampKey = []byte(`"timestamp":"`)

func (r *receivers) note(body []byte, now time.Time) {
	took := time.Duration(-1)
	if _, rest, ok := bytes.Cut(body, timestampKey); ok {
		if text, _, ok := bytes.Cut(rest, []byte{'"'}); ok {
			if at, err := time.Parse(time.RFC3339Nano, string(text)); err == nil {
				took = now.Sub(at)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if took >= 0 {
		r.took = append(r.took, took)
	}
}

func (r *receivers) stats() received {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.took)
	l := load{latencies: r.took}
	s := received{Count: r.count, P50: l.quantile(.5), P99: l.quantile(.99), Max: l.quantile(1)}
	r.count, r.took = 0, r.took[:0]
	return s
}

// readHead reads a request up to its body.
func readHead(in *bufio.Reader) (path string, length int, err error) {
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return "", 0, err
		}
		text := strings.TrimSpace(string(line))
		if text == "" {
			return path, length, nil
		}
		if first {
			if parts := strings.Fields(text); len(parts) == 3 {
				path = parts[1]
			}
			continue
		}
		if name, value, ok := strings.Cut(text, ":"); ok && strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || length < 0 || length > 1<<20 {
				return "", 0, fmt.Errorf("bad length %q", value)
			}
		}
	}
}
