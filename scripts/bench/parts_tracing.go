package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// tracingRounds is how often each server has its turn.
const tracingRounds = 7

// tracing compares the processor time of an execution with tracing off, at one trace in a hundred, and at all of them. The
// servers take turns within one run, so that whatever else the machine does is shared.
func (b *bench) tracing(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	collector := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})}
	ended := make(chan error, 1)
	go func() { ended <- collector.Serve(listener) }()
	defer func() {
		_ = collector.Close()
		<-ended
	}()
	req := request{method: http.MethodPost, path: "/api/patterns/bench-echo/execute", body: []byte(echoBody), want: http.StatusOK}
	variants := []string{"{}", "{enabled: true, samplePerMillion: 10000, endpoint: 'http://%s'}", "{enabled: true, samplePerMillion: 1000000, endpoint: 'http://%s'}"}
	servers := make([]*server, len(variants))
	var ends []func()
	defer func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}()
	for i, keys := range variants {
		if i > 0 {
			keys = fmt.Sprintf(keys, listener.Addr())
		}
		dir, err := os.MkdirTemp(b.dir, "data-")
		if err != nil {
			return err
		}
		config := "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nplugins: {stateDir: $DIR/plugins}\nobservability: {tracing: " + keys + "}\n"
		s, err := started(ctx, func() (*testbed.Server, error) { return testbed.NewServer(b.binary, dir, config) })
		if err != nil {
			return err
		}
		ends = append(ends, s.stop)
		agents, err := b.withAgents(ctx, s)
		if err != nil {
			return err
		}
		ends = append(ends, func() { stop(agents) })
		if _, err := fire(ctx, s.Host, 8, b.span(2*time.Second), req); err != nil { // warm-up
			return err
		}
		servers[i] = s
	}
	ratios := make([][]float64, len(variants))
	for range tracingRounds {
		var off float64
		for i, s := range servers {
			before := testbed.CPUTime(s.PID())
			l, err := fire(ctx, s.Host, 16, b.span(3*time.Second), req)
			if err != nil {
				return err
			}
			each := float64(testbed.CPUTime(s.PID())-before) / float64(l.requests)
			if i == 0 {
				off = each
			}
			ratios[i] = append(ratios[i], each/off)
		}
	}
	for i, name := range []string{"", "one trace in a hundred", "every trace"} {
		if i == 0 {
			continue
		}
		slices.Sort(ratios[i])
		most := 0.0
		if i == 1 {
			most = 1.03
		}
		b.add("tracing", "CPU of an execution, "+name+", over tracing off", ratios[i][tracingRounds/2], "%.3f", most, true,
			fmt.Sprintf("median of %d, from %.3f to %.3f", tracingRounds, ratios[i][0], ratios[i][tracingRounds-1]))
	}
	return nil
}
