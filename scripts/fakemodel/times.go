package fakemodel

import (
	"crypto/sha256"
	"sync"
)

// maxWrongs bounds the user texts that are counted at once.
const maxWrongs = 4096

// wrongs counts the requests that went wrong, by their user text, for TIMES. It is safe for concurrent use, and its
// zero value is ready.
type wrongs struct {
	mu    sync.Mutex
	count map[[sha256.Size]byte]int
}

// more counts a request, and reports whether it is among the first ones. When too many texts are known, all are forgotten.
func (w *wrongs) more(user string, times int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == nil || len(w.count) >= maxWrongs {
		w.count = map[[sha256.Size]byte]int{}
	}
	sum := sha256.Sum256([]byte(user))
	if w.count[sum] >= times {
		return false
	}
	w.count[sum]++
	return true
}

func (w *wrongs) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count = nil
}
