package webhook

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// maxBody bounds a delivery in bytes: inputs and results of executions travel in it.
const maxBody = 16 << 20

// Handler returns a handler that verifies each delivery and hands its event on. It answers 200 when handle returned nil;
// 500 for its error, which has the event delivered again later; 401 for a delivery that does not verify. handle is called
// concurrently, at least once for each event and perhaps more often: wrap it with Once, or remember ids where your data
// is. It should return within the endpoint's timeout, 30 seconds by default. Handler panics without a secret.
func Handler(secret string, handle func(Event) error) http.Handler {
	if secret == "" {
		panic(ErrNoSecret)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "webhooks are sent with POST", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			status := http.StatusBadRequest
			if over := new(http.MaxBytesError); errors.As(err, &over) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, "the body cannot be read", status)
			return
		}
		event, err := Verify(secret, r.Header, body, 0, time.Now())
		switch {
		case err != nil && Refused(err):
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case handle(event) != nil:
			// The receiver's own text is none of the sender's business.
			http.Error(w, "the event was not handled", http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusOK)
		}
	})
}
