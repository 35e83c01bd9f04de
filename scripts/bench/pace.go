package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// pace sends a request so often per second for d, whatever the answers take, and returns how often it did.
func pace(ctx context.Context, host string, perSecond int, d time.Duration, r request) (int, error) {
	const clients = 16
	raw := r.bytes(host)
	var wg sync.WaitGroup
	var sent atomic.Int64
	errs := make(chan error, clients)
	turns := make(chan struct{}, perSecond) // a second's worth may wait
	for range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs <- paced(ctx, host, raw, r.want, turns, &sent)
		}()
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	start, due := time.Now(), 0
	for elapsed := time.Duration(0); elapsed < d && ctx.Err() == nil; elapsed = time.Since(start) {
		for ; due < int(elapsed.Seconds()*float64(perSecond)); due++ {
			select {
			case turns <- struct{}{}:
			default: // the server does not keep up; the report shows how many were sent
			}
		}
		<-tick.C
	}
	close(turns)
	wg.Wait()
	for range clients {
		if err := <-errs; err != nil {
			return int(sent.Load()), err
		}
	}
	return int(sent.Load()), nil
}

// paced sends the request once for each turn.
func paced(ctx context.Context, host string, raw []byte, want int, turns <-chan struct{}, sent *atomic.Int64) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	defer conn.Close()
	release := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer release()
	in := bufio.NewReaderSize(conn, 16<<10)
	for range turns {
		if _, err := conn.Write(raw); err != nil {
			return err
		}
		status, body, err := readAnswer(in)
		if err != nil {
			return err
		}
		if status != want {
			return fmt.Errorf("status %d: %s", status, body)
		}
		sent.Add(1)
	}
	return nil
}
