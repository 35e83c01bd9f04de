package webhook

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of a delivery.
const (
	HeaderSignature         = "X-Service-Signature"
	HeaderEvent             = "X-Service-Event"
	HeaderDelivery          = "X-Service-Delivery"
	HeaderTimestamp         = "X-Service-Timestamp"
	HeaderRetryCount        = "X-Service-Retry-Count"
	HeaderOriginalTimestamp = "X-Service-Original-Timestamp"
)

// DefaultTolerance is how far a delivery's timestamp may be from the receiver's clock.
const DefaultTolerance = 5 * time.Minute

// scheme is the prefix of a signature.
const scheme = "sha256="

// maxSignatures bounds the signatures of one delivery that are looked at. There are several while a secret is replaced.
const maxSignatures = 16

// Event is the event of a delivery.
type Event struct {
	ID        string          `json:"id"` // the same at every attempt: tell duplicates by it
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"` // when it happened
	Data      json.RawMessage `json:"data"`      // an object; its fields depend on Type

	// SentAt is when this attempt was signed, in whole seconds.
	SentAt time.Time `json:"-"`
	// What follows comes from headers, which the signature does not cover: for logs, not for decisions.
	DeliveryID string `json:"-"`
	Retry      int    `json:"-"` // 0 at the first attempt
}

// Decode reads Data into a struct.
func (e Event) Decode(into any) error { return json.Unmarshal(e.Data, into) }

// Verify checks that a delivery was signed with the secret over exactly this body, at a time within the tolerance of now
// (0: DefaultTolerance; negative: at any time), and returns its event. body is the raw body as it came, before anything
// parsed it. The comparison takes the same time wherever signatures differ. Errors wrap one of this package.
func Verify(secret string, header http.Header, body []byte, tolerance time.Duration, now time.Time) (Event, error) {
	if secret == "" {
		return Event{}, ErrNoSecret
	}
	timestamp, sentAt, err := sent(header)
	if err != nil {
		return Event{}, err
	}
	given := signatures(header)
	if len(given) == 0 {
		return Event{}, fmt.Errorf("%w: %s wants %s and 64 hex digits", ErrNoSignature, HeaderSignature, scheme)
	}
	want, good := sum(secret, timestamp, body), false
	for _, s := range given {
		good = hmac.Equal(s, want) || good
	}
	if !good {
		return Event{}, ErrSignature
	}
	tolerance = cmp.Or(tolerance, DefaultTolerance)
	if age := now.Sub(sentAt); tolerance > 0 {
		switch {
		case age > tolerance:
			return Event{}, fmt.Errorf("%w: it was signed %s ago", ErrTooOld, age.Round(time.Second))
		case age < -tolerance:
			return Event{}, fmt.Errorf("%w: it will be signed in %s", ErrTooNew, -age.Round(time.Second))
		}
	}
	event, err := parse(body)
	if err != nil {
		return Event{}, err
	}
	event.SentAt = sentAt
	event.DeliveryID = header.Get(HeaderDelivery)
	event.Retry, _ = strconv.Atoi(header.Get(HeaderRetryCount)) // absent at the first attempt
	return event, nil
}

// Sign returns the value of the signature's header for a body that is sent at a time. Tests of receivers use it.
func Sign(secret string, at time.Time, body []byte) string {
	return scheme + hex.EncodeToString(sum(secret, strconv.FormatInt(at.Unix(), 10), body))
}

// sum is the HMAC-SHA256 of "<timestamp>.<body>".
func sum(secret, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp))
	mac.Write([]byte{'.'})
	mac.Write(body)
	return mac.Sum(nil)
}

// maxSeconds keeps a timestamp within what a time.Duration can tell from any present.
const maxSeconds = 1 << 33

// sent reads the timestamp as it was signed, and what it means.
func sent(header http.Header) (text string, at time.Time, err error) {
	values := header.Values(HeaderTimestamp)
	if len(values) != 1 {
		return "", at, fmt.Errorf("%w: %s must be given once", ErrTimestamp, HeaderTimestamp)
	}
	seconds, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || seconds < 0 || seconds > maxSeconds {
		return "", at, fmt.Errorf("%w: %s must be seconds since 1970", ErrTimestamp, HeaderTimestamp)
	}
	return values[0], time.Unix(seconds, 0).UTC(), nil
}

// signatures returns those of the header that may be ours.
func signatures(header http.Header) [][]byte {
	var list [][]byte
	for _, value := range header.Values(HeaderSignature) {
		for part := range strings.SplitSeq(value, ",") {
			digits, ok := strings.CutPrefix(strings.TrimSpace(part), scheme)
			if !ok || len(digits) != hex.EncodedLen(sha256.Size) {
				continue
			}
			if raw, err := hex.DecodeString(digits); err == nil && len(list) < maxSignatures {
				list = append(list, raw)
			}
		}
	}
	return list
}

// parse reads a verified body.
func parse(body []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(body, &e); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrBody, err)
	}
	if e.ID == "" || e.Type == "" || e.Timestamp.IsZero() || len(e.Data) == 0 || e.Data[0] != '{' {
		return Event{}, fmt.Errorf("%w: it must have id, type, timestamp and data", ErrBody)
	}
	return e, nil
}
