package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// load is the result of a run of requests.
type load struct {
	requests  int
	elapsed   time.Duration
	latencies []time.Duration // sorted
}

func (l load) perSecond() float64 { return float64(l.requests) / l.elapsed.Seconds() }

// quantile returns a latency in milliseconds.
func (l load) quantile(q float64) float64 {
	return float64(testbed.Quantile(l.latencies, q).Microseconds()) / 1000
}

// request is one HTTP request as bytes, sent again and again over kept connections. A client of its own
// keeps the load generator's share of the machine small: what is measured is the server.
type request struct {
	method, path string
	body         []byte
	want         int    // status
	token        string // credential; "": none
}

func (r request) bytes(host string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.path, host)
	if r.token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", r.token)
	}
	if r.body != nil {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(r.body))
	}
	b.WriteString("\r\n")
	b.Write(r.body)
	return b.Bytes()
}

// fire sends the request from clients connections for d and returns what came back.
func fire(ctx context.Context, host string, clients int, d time.Duration, r request) (load, error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	raw := r.bytes(host)
	start := time.Now()
	stop := start.Add(d)
	for range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mine, err := client(ctx, host, raw, r.want, stop)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
			if err != nil && failed == nil {
				failed = err
			}
		}()
	}
	wg.Wait()
	elapsed := time.Since(start)
	slices.Sort(all)
	return load{requests: len(all), elapsed: elapsed, latencies: all}, failed
}

func client(ctx context.Context, host string, raw []byte, want int, stop time.Time) ([]time.Duration, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	release := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer release()
	in := bufio.NewReaderSize(conn, 16<<10)
	latencies := make([]time.Duration, 0, 1<<14)
	for {
		sent := time.Now()
		if sent.After(stop) {
			return latencies, nil
		}
		if _, err := conn.Write(raw); err != nil {
			return latencies, err
		}
		status, body, err := readAnswer(in)
		if err != nil {
			return latencies, err
		}
		if status != want {
			return latencies, fmt.Errorf("status %d: %s", status, body)
		}
		latencies = append(latencies, time.Since(sent))
	}
}

// readAnswer reads one answer with a Content-Length or chunks. The body is returned for statuses from 300 on.
func readAnswer(in *bufio.Reader) (int, []byte, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	if len(line) < 12 {
		return 0, nil, fmt.Errorf("bad status line %q", line)
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, nil, err
	}
	length, chunked := int64(0), false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case len(name) == 14 && bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
				return 0, nil, err
			}
		case len(name) == 17 && bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		}
	}
	if chunked {
		return status, nil, skipChunks(in)
	}
	if status < 300 {
		_, err = in.Discard(int(length))
		return status, nil, err
	}
	body := make([]byte, length)
	_, err = io.ReadFull(in, body)
	return status, body, err
}

func skipChunks(in *bufio.Reader) error {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return err
		}
		if _, err := in.Discard(int(size) + 2); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}
