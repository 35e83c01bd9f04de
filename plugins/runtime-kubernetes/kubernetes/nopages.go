package kubernetes

import (
	"mime"
	"net/http"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// noPages makes errors of pages for people that are answered with success, such as those of a load balancer whose servers are under
// maintenance: for a removal client-go looks at nothing but the code. The API server answers with none.
type noPages struct{ next http.RoundTripper }

func (t noPages) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err != nil || answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusMultipleChoices {
		return answer, err
	}
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind != "text/html" {
		return answer, nil
	}
	_ = answer.Body.Close()
	return nil, &runtime.Error{
		Code: runtime.CodeUnavailable, Message: "something on the way answers with a page instead of the API server of the cluster", Retry: true,
		Hint: "look at the load balancer or proxy before it",
	}
}

// WrappedRoundTripper lets client-go reach the transport below, to cancel requests and to upgrade connections.
func (t noPages) WrappedRoundTripper() http.RoundTripper { return t.next }
