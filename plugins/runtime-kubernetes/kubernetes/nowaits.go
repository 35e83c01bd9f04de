package kubernetes

import (
	"net/http"
	"strconv"
	"time"
)

// noWaits takes out of an answer how long to wait before another try, where the call has less time left: client-go would wait, and then
// have nothing to report but that the time was over. The answer holds why it was refused.
type noWaits struct{ next http.RoundTripper }

func (t noWaits) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	end, bounded := r.Context().Deadline()
	if err != nil || !bounded {
		return answer, err
	}
	const header = "Retry-After"
	if seconds, err := strconv.Atoi(answer.Header.Get(header)); err == nil && time.Duration(seconds)*time.Second >= time.Until(end) {
		answer.Header.Del(header)
	}
	return answer, nil
}

// WrappedRoundTripper lets client-go reach the transport below, to cancel requests and to upgrade connections.
func (t noWaits) WrappedRoundTripper() http.RoundTripper { return t.next }
