package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// schedule is how long after an attempt that failed the next one follows.
var schedule = [maxRetries]time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour}

// jitterShare is the part of a wait that may be added to it: never early, not all at once, and at most 2 % late together
// with what the attempt itself takes to begin.
const jitterShare = 0.015

// wait returns how long to wait after so many attempts, at least one. after is the delay that the receiver asked for.
func wait(attempts int, after time.Duration, jitter float64) time.Duration {
	d := schedule[min(max(attempts, 1), maxRetries)-1]
	d += time.Duration(float64(d) * jitterShare * jitter)
	return max(d, min(after, maxRetryAfter))
}

// retryAfter reads what a receiver that is overloaded asks for, in seconds or as a date; 0 if it asks for nothing.
func retryAfter(code int, h http.Header, now time.Time) time.Duration {
	if code != http.StatusTooManyRequests && code != http.StatusServiceUnavailable {
		return 0
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
