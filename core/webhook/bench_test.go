package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/webhook"
	"github.com/wardroom/wardroom/core/webhook/target"
)

const (
	benchHooks   = 100
	benchWorkers = 64
)

// sink is a receiver that reads and counts.
func sink(b *testing.B) (url string, count *atomic.Int64) {
	count = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		count.Add(1)
	}))
	b.Cleanup(server.Close)
	return server.URL, count
}

// body is about as long as that of the end of an execution.
var body = fmt.Appendf(nil, `{"name":"p","result":%q}`, bytes.Repeat([]byte("x"), 800))

// BenchmarkDeliveries sends events to a hundred endpoints of receivers on loopback, over a store in memory: what is
// left is the dispatcher and HTTP.
func BenchmarkDeliveries(b *testing.B) {
	url, count := sink(b)
	m := newMemory(b)
	s := webhook.New(webhook.Options{Store: m, Config: webhook.Config{Guard: &target.Guard{Development: true}}})
	if err := s.Open(ctx); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	for range benchHooks {
		if _, err := s.CreateWebhook(ctx, core.WebhookSpec{URL: url, Events: []core.EventType{core.AllEvents}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for n := 0; n < b.N; n += benchHooks {
		e := []core.Event{{ID: fmt.Sprint("evt_", n), Type: core.EventPatternUpdated, Time: time.Now(), Subject: fmt.Sprint(n), Data: body}}
		if err := m.Update(ctx, func(tx core.Tx) error { return tx.Append(e...) }); err != nil {
			b.Fatal(err)
		}
		s.Notify()
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for st := s.Stats(); count.Load() < int64(b.N) || st.Active > 0 || st.Waiting > 0 || st.Behind > 0; st = s.Stats() {
		<-tick.C
	}
	b.ReportMetric(float64(count.Load())/b.Elapsed().Seconds(), "deliveries/s")
}

// BenchmarkBarePosts is a loop that posts the same bodies, with nothing to remember.
func BenchmarkBarePosts(b *testing.B) {
	url, _ := sink(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchWorkers}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range benchWorkers {
		wg.Go(func() {
			for next.Add(1) <= int64(b.N) {
				resp, err := client.Post(url, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "posts/s")
}
