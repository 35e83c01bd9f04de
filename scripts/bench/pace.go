package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// pace sends a request so often per second for d, whatever the answers take, and returns how often it did.
func pace(ctx context.Context, host string, perSecond int, d time.Duration, r request) (int, error) {
	over := make(chan struct{})
	end := time.AfterFunc(d, func() { close(over) })
	defer end.Stop()
	l, err := paceUntil(ctx, host, perSecond, over, r)
	return l.requests, err
}

// paceUntil sends requests in turn so often per second until it is over. Latencies count from when a request was due.
func paceUntil(ctx context.Context, host string, perSecond int, over <-chan struct{}, requests ...request) (load, error) {
	const clients = 16
	raw := make([][]byte, len(requests))
	for i, r := range requests {
		raw[i] = r.bytes(host)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	turns := make(chan dueCall, perSecond) // a second's worth may wait
	for range clients {
		wg.Go(func() {
			mine, err := paced(ctx, host, raw, requests, turns)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
			if failed == nil {
				failed = err
			}
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	start, due, going := time.Now(), 0, true
	for going {
		for elapsed := time.Since(start); due < int(elapsed.Seconds()*float64(perSecond)); due++ {
			select {
			case turns <- dueCall{due, start.Add(time.Duration(due) * time.Second / time.Duration(perSecond))}:
			default: // the server does not keep up; the report shows how many were sent
			}
		}
		select {
		case <-tick.C:
		case <-over:
			going = false
		case <-ctx.Done():
			going = false
		}
	}
	close(turns)
	wg.Wait()
	slices.Sort(all)
	return load{requests: len(all), elapsed: time.Since(start), latencies: all}, failed
}

// dueCall is the number of a request that is to be sent, and when.
type dueCall struct {
	n   int
	due time.Time
}

// paced sends one request for each turn.
func paced(ctx context.Context, host string, raw [][]byte, requests []request, turns <-chan dueCall) (latencies []time.Duration, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	release := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer release()
	in := bufio.NewReaderSize(conn, 16<<10)
	for t := range turns {
		i := t.n % len(raw)
		if _, err := conn.Write(raw[i]); err != nil {
			return latencies, err
		}
		status, body, err := readAnswer(in)
		if err != nil {
			return latencies, err
		}
		if status != requests[i].want {
			return latencies, fmt.Errorf("status %d: %s", status, body)
		}
		latencies = append(latencies, time.Since(t.due))
	}
	return latencies, nil
}
