package cluster

import "net/http"

// maxAnswer bounds an answer of the cluster: a secret has 1 MiB at most, and is longer as JSON. Of watches, client-go bounds each event.
const maxAnswer = 8 << 20

// bounded is a transport whose answers are bounded, but for those of watches.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil && (resp.StatusCode != http.StatusOK || r.URL.Query().Get("watch") == "") {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// CloseIdleConnections is for http.Client.
func (b bounded) CloseIdleConnections() {
	if t, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
