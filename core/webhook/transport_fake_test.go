package webhook_test

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/wardroom/wardroom/core/webhook"
	"github.com/wardroom/wardroom/core/webhook/target"
)

// counter is a transport that answers 200 and counts what it is given by delivery.
type counter struct {
	mu   sync.Mutex // guards seen
	seen map[string]int
}

func (c *counter) transport(*webhook.Config, target.TLS) (http.RoundTripper, error) { return c, nil }

func (c *counter) RoundTrip(q *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, q.Body); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[q.Header.Get("X-Service-Delivery")]++
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("ok")), Header: http.Header{}}, nil
}
