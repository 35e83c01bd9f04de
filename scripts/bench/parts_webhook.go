package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"

	api "github.com/wardroom/wardroom/sdk/client"
)

// hookEndpoints is how many endpoints get every event.
const hookEndpoints = 100

// webhooks measures deliveries to receivers in a process of their own: how many there can be, how fast one is, what
// an endpoint that hangs does to others, and a long backlog.
func (b *bench) webhooks(ctx context.Context) error {
	r, err := b.receivers(ctx)
	if err != nil {
		return err
	}
	defer stop(r.Process)
	bare, err := b.bareLoop(ctx, r)
	if err != nil {
		return err
	}
	if err := b.hookRate(ctx, r, bare); err != nil {
		return err
	}
	if err := b.hookLatency(ctx, r); err != nil {
		return err
	}
	return b.hookBacklog(ctx)
}

// farm is the process of the receivers.
type farm struct{ *testbed.Process }

func (b *bench) receivers(ctx context.Context) (*farm, error) {
	p, err := b.play(ctx, "receivers")
	return &farm{p}, err
}

func (f *farm) url(path string) string { return "http://" + f.Address + path }

func (f *farm) get(ctx context.Context, path string) ([]byte, error) { return get(ctx, f.url(path)) }

// stats returns what came since the last call.
func (f *farm) stats(ctx context.Context) (received, error) {
	var s received
	text, err := f.get(ctx, "/stats")
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

// bareLoop posts bodies like those of deliveries with a client that does nothing else.
func (b *bench) bareLoop(ctx context.Context, f *farm) (float64, error) {
	body := []byte(`{"id":"evt_01ARZ3NDEKTSV4RRFFQ69G5FAV","type":"execution.completed","timestamp":"2026-01-02T03:04:05.000Z","data":` +
		`{"executionId":"exec_01ARZ3NDEKTSV4RRFFQ69G5FAV","pattern":{"name":"bench-echo","version":"1.0.0"},"result":{"label":"pangram","confidence":1},` +
		`"duration":4,"agents":[{"id":"agent_01","result":{"label":"pangram","confidence":0.9}},{"id":"agent_02","result":{"label":"pangram","confidence":0.9}}]}}`)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	defer client.CloseIdleConnections()
	var n atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	start := time.Now()
	stop := start.Add(b.span(5 * time.Second))
	for range 256 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for time.Now().Before(stop) && failed.Load() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s%d", f.url("/r/"), n.Load()%hookEndpoints), bytes.NewReader(body))
				if err == nil {
					req.Header.Set("Content-Type", "application/json")
					var res *http.Response
					if res, err = client.Do(req); err == nil {
						_, _ = io.Copy(io.Discard, res.Body)
						_ = res.Body.Close()
						n.Add(1)
					}
				}
				if err != nil {
					failed.Store(&err)
				}
			}
		}()
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	rate := float64(n.Load()) / time.Since(start).Seconds()
	b.add("webhooks", "a bare Go loop posting the same bodies", rate, "%.0f/s", 0, false, "")
	_, err := f.stats(ctx) // begins anew
	return rate, err
}

// subscribe makes endpoints for both events of an execution, and returns the id of the last.
func (s *server) subscribe(ctx context.Context, f *farm, path string, n int) (id string, err error) {
	for i := range n {
		hook, err := s.Client.CreateWebhook(ctx, api.WebhookSpec{
			URL: f.url(strings.ReplaceAll(path, "%", fmt.Sprint(i))), Events: []string{"execution.started", "execution.completed"},
			Secret: "whsec_bench", Timeout: 300_000,
		})
		if err != nil {
			return "", err
		}
		id = hook.ID
	}
	return id, nil
}

// hookRate offers more than the target, and counts what arrives.
func (b *bench) hookRate(ctx context.Context, f *farm, bare float64) error {
	s, agents, err := b.hooked(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	defer stop(agents)
	if _, err := s.subscribe(ctx, f, "/r/%", hookEndpoints); err != nil {
		return err
	}
	req := request{method: http.MethodPost, path: "/api/patterns/bench-echo/execute", body: []byte(echoBody), want: http.StatusOK}
	if _, err := pace(ctx, s.Host, 30, b.span(3*time.Second), req); err != nil { // warm-up
		return err
	}
	if err := f.settle(ctx); err != nil {
		return err
	}
	before := testbed.CPUTime(s.PID())
	d := b.span(20 * time.Second)
	start := time.Now()
	events, err := pace(ctx, s.Host, 30, d, req) // 60 events/s, 6,000 deliveries/s
	if err != nil {
		return err
	}
	got, err := f.stats(ctx)
	if err != nil {
		return err
	}
	took := time.Since(start)
	rate := float64(got.Count) / took.Seconds()
	name := fmt.Sprintf("deliveries from %d endpoints, %.0f/s offered", hookEndpoints, float64(events*2*hookEndpoints)/took.Seconds())
	b.add("webhooks", name, rate, "%.0f/s", 4000, false, fmt.Sprintf("%.2f of the bare loop", rate/bare))
	b.add("webhooks", "CPU of the core each", float64((testbed.CPUTime(s.PID())-before).Microseconds())/1000/float64(got.Count), "%.3f ms", 0, true, "")
	b.add("webhooks", "event to receipt meanwhile, p99", got.P99, "%.1f ms", 0, true, "")
	return nil
}

// settle waits until nothing arrives any more, and forgets what did.
func (f *farm) settle(ctx context.Context) error {
	quiet := 0
	for quiet < 3 {
		s, err := f.stats(ctx)
		if err != nil {
			return err
		}
		if quiet++; s.Count > 0 {
			quiet = 0
		}
		if err := testbed.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// hooked starts a server with agents.
func (b *bench) hooked(ctx context.Context) (*server, *testbed.Process, error) {
	s, err := b.serve(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	agents, err := b.withAgents(ctx, s)
	if err != nil {
		s.stop()
		return nil, nil, err
	}
	return s, agents, nil
}

// hookLatency measures the way of an event to two endpoints at a moderate rate, in turns beside a third one that is
// well and that hangs: both are of the same minutes of the same server.
func (b *bench) hookLatency(ctx context.Context, f *farm) error {
	s, agents, err := b.hooked(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	defer stop(agents)
	if _, err := s.subscribe(ctx, f, "/r/%", 2); err != nil {
		return err
	}
	third, err := s.subscribe(ctx, f, "/well", 1)
	if err != nil {
		return err
	}
	const rounds = 5
	var p50, alone, beside []float64
	for range rounds {
		well, err := b.hookRound(ctx, s, f)
		if err != nil {
			return err
		}
		if err := s.setURL(ctx, third, f.url("/hang")); err != nil {
			return err
		}
		hung, err := b.hookRound(ctx, s, f)
		if err != nil {
			return err
		}
		if err := s.setURL(ctx, third, f.url("/well")); err != nil {
			return err
		}
		if err := s.awaitSeries(ctx, "service_webhook_deliveries_pending", func(n float64) bool { return n == 0 }); err != nil {
			return err
		}
		p50, alone, beside = append(p50, well.P50), append(alone, well.P99), append(beside, hung.P99)
	}
	slices.Sort(p50)
	slices.Sort(alone)
	slices.Sort(beside)
	mid := alone[rounds/2]
	b.add("webhooks", "event to receipt at 500 events/s to 2 endpoints, p50", p50[rounds/2], "%.1f ms", 0, true, "")
	b.add("webhooks", "event to receipt at 500 events/s to 2 endpoints, p99", mid, "%.1f ms", 50, true,
		fmt.Sprintf("%.1f to %.1f in %d rounds", alone[0], alone[rounds-1], rounds))
	b.add("webhooks", "the same while a third endpoint hangs for 30 s, p99", beside[rounds/2], "%.1f ms", mid*1.2, true,
		fmt.Sprintf("%.2f of without it; %.1f to %.1f", beside[rounds/2]/mid, beside[0], beside[rounds-1]))
	return nil
}

// hookRound executes at a steady rate and tells what arrived of it.
func (b *bench) hookRound(ctx context.Context, s *server, f *farm) (received, error) {
	req := request{method: http.MethodPost, path: "/api/patterns/bench-echo/execute", body: []byte(echoBody), want: http.StatusOK}
	if _, err := pace(ctx, s.Host, 250, b.span(2*time.Second), req); err != nil {
		return received{}, err
	}
	if err := f.settle(ctx); err != nil {
		return received{}, err
	}
	sent, err := pace(ctx, s.Host, 250, b.span(10*time.Second), req) // two events each
	if err != nil {
		return received{}, err
	}
	if err := testbed.Pause(ctx, time.Second); err != nil {
		return received{}, err
	}
	got, err := f.stats(ctx)
	if err == nil && got.Count != sent*4 {
		err = fmt.Errorf("%d deliveries of %d executions arrived, want %d", got.Count, sent, sent*4)
	}
	return got, err
}

func (s *server) setURL(ctx context.Context, webhook, url string) error {
	_, err := s.Client.UpdateWebhook(ctx, webhook, api.WebhookPatch{URL: &url})
	return err
}
