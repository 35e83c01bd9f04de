package cluster

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/sdk/secret"
)

// An answer without an end is not read to it, whether it is a secret or an error.
func TestLongAnswer(t *testing.T) {
	const most = 256 << 20
	for _, status := range []int{http.StatusOK, http.StatusInternalServerError} {
		a := newAPI(t)
		settings, _ := a.settings(t, nil)
		s := provider(t, settings)
		var written atomic.Int64
		a.set(func() {
			a.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				chunk := bytes.Repeat([]byte(" "), 1<<20)
				for written.Load() < most {
					n, err := w.Write(chunk)
					if written.Add(int64(n)); err != nil {
						return
					}
				}
			}
		})
		_, err := s.resolve(t, "agents/db", "password")
		if n := written.Load(); n > most/2 {
			t.Errorf("status %d: %d MiB were read", status, n>>20)
		}
		if status == http.StatusOK && (err == nil || err.Code != secret.CodeInvalidRef) || err == nil {
			t.Errorf("status %d: %v", status, err)
		}
	}
}
