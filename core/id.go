package core

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Prefixes of the ids of what has no file of its own here; those of a noun stand with it. An id is a prefix and a ULID, so ids of
// a kind sort by the time they were made.
const (
	PrefixRequest = "req_"
	PrefixMessage = "msg_"
	PrefixInstall = "inst_"
)

// prefixes are those of all ids.
var prefixes = []string{
	PrefixAgent, PrefixToken, PrefixAPIKey, PrefixAudit, PrefixBatch, PrefixDecision, PrefixErasure, PrefixEvent, PrefixExecution,
	PrefixMemory, PrefixRequest, PrefixMessage, PrefixInstall, PrefixManaged, PrefixQuestion, PrefixSchedule, PrefixSession, PrefixTask,
	PrefixThread, PrefixInput, PrefixTrigger, PrefixWebhook, PrefixDelivery, PrefixWorkspace,
}

// IDs makes ids. Implementations are safe for concurrent use, and two ids of one instance never compare
// out of the order in which they were made.
type IDs interface {
	New(prefix string) string
}

var _ IDs = (*IDMaker)(nil)

// IDMaker makes ids from the clock and crypto/rand, strictly rising within a millisecond.
type IDMaker struct {
	clock Clock

	mu      sync.Mutex // guards all below
	entropy *ulid.MonotonicEntropy
	last    uint64 // milliseconds of the last id; never goes back, even when the clock does
}

// NewIDs returns the production id maker.
func NewIDs(clock Clock) *IDMaker {
	return &IDMaker{clock: clock, entropy: ulid.Monotonic(rand.Reader, 0)}
}

// NotBefore has all later ids sort after those that were made up to t, whatever the clock says: those of the process
// before, when the clock was set back since.
func (u *IDMaker) NotBefore(t time.Time) {
	if t.IsZero() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last = max(u.last, ulid.Timestamp(t)+1)
}

// New implements IDs.
func (u *IDMaker) New(prefix string) string {
	now := ulid.Timestamp(u.clock.Now())
	u.mu.Lock()
	defer u.mu.Unlock()
	if now < u.last {
		now = u.last
	}
	u.last = now
	id, err := ulid.New(now, u.entropy)
	if err != nil { // the monotonic part overflowed: move on to the next millisecond
		u.last++
		id = ulid.MustNew(u.last, u.entropy)
	}
	text := make([]byte, len(prefix)+ulid.EncodedSize)
	copy(text, prefix)
	_ = id.MarshalTextTo(text[len(prefix):]) // it has the room
	return string(text)
}

// ValidID reports whether id is prefix followed by a ULID.
func ValidID(prefix, id string) bool {
	rest, ok := strings.CutPrefix(id, prefix)
	if !ok {
		return false
	}
	_, err := ulid.ParseStrict(rest)
	return err == nil
}

// BeginsWithID reports whether text begins with an id, whatever comes behind it.
func BeginsWithID(text string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		end := len(prefix) + ulid.EncodedSize
		return len(text) >= end && ValidID(prefix, text[:end])
	})
}

// IDTime returns the time at which id was made, and false if id is not an id.
func IDTime(id string) (time.Time, bool) {
	_, rest, ok := strings.Cut(id, "_")
	if !ok {
		return time.Time{}, false
	}
	parsed, err := ulid.ParseStrict(rest)
	if err != nil {
		return time.Time{}, false
	}
	return ulid.Time(parsed.Time()), true
}

// IDBound returns the smallest id with this prefix that could be made at or after t. Stores use it to
// turn a time range into a range of keys.
func IDBound(prefix string, t time.Time) string {
	var id ulid.ULID
	if t.After(time.UnixMilli(0)) {
		_ = id.SetTime(ulid.Timestamp(t))
	}
	return prefix + id.String()
}
