package trigger

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Headers of requests.
const (
	headerSignature = "X-Service-Signature"
	headerTimestamp = "X-Service-Timestamp"
	headerDelivery  = "X-Service-Delivery"
	headerEvent     = "X-Service-Event"

	headerGitHub         = "X-Hub-Signature-256"
	headerGitHubDelivery = "X-Github-Delivery"
	headerGitHubEvent    = "X-Github-Event"

	headerGitLab         = "X-Gitlab-Token"
	headerGitLabDelivery = "Idempotency-Key"
	headerGitLabUUID     = "X-Gitlab-Event-Uuid"
	headerGitLabEvent    = "X-Gitlab-Event"
)

const (
	tolerance     = 5 * time.Minute // between the clock of a sender and ours
	maxSecrets    = 2               // of a trigger that are taken at once, and that are tried for every request
	maxSignatures = 4               // of a request
	maxSecret     = 1024            // bytes
	minSecret     = 16
	maxDelivery   = 200 // bytes of a sender's id of a request
	maxEvent      = 100
)

// secret is one that requests are signed with.
type secret struct {
	Text  string     `json:"secret"`
	Until *time.Time `json:"until,omitempty"` // of the former one
}

// newSecret makes a secret of 32 random bytes.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return "trgsec_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// valid returns the texts of the secrets that are taken at a time.
func valid(secrets []secret, now time.Time) []string {
	texts := make([]string, 0, maxSecrets)
	for i, s := range secrets {
		if i == 0 || s.Until != nil && now.Before(*s.Until) {
			texts = append(texts, s.Text)
		}
	}
	return texts
}

// proof holds the signatures or tokens of a request, and how they were made.
type proof struct {
	scheme   core.SignatureScheme
	given    []string // signatures or tokens
	prefix   string   // signed before the body
	at       time.Time
	delivery string
	event    string
}

// proofOf reads the headers of a request; ok is false for one that cannot be signed by any scheme.
func proofOf(header func(name string) string) (p proof, ok bool) {
	switch {
	case header(headerSignature) != "":
		p = proof{scheme: wire.SchemeWardroom, given: strings.SplitN(header(headerSignature), ",", maxSignatures+1), delivery: header(headerDelivery), event: header(headerEvent)}
		seconds, err := strconv.ParseInt(header(headerTimestamp), 10, 64)
		if err != nil || seconds < 0 || seconds > 1<<40 || len(p.given) > maxSignatures {
			return p, false
		}
		p.at, p.prefix = time.Unix(seconds, 0), header(headerTimestamp)+"."
	case header(headerGitHub) != "":
		p = proof{scheme: wire.SchemeGitHub, given: []string{header(headerGitHub)}, delivery: header(headerGitHubDelivery), event: header(headerGitHubEvent)}
	case header(headerGitLab) != "":
		p = proof{scheme: wire.SchemeGitLab, given: []string{header(headerGitLab)}, delivery: header(headerGitLabDelivery), event: header(headerGitLabEvent)}
		p.delivery = cmp.Or(p.delivery, header(headerGitLabUUID))
	default:
		return p, false
	}
	for i := range p.given {
		p.given[i] = strings.TrimSpace(p.given[i])
	}
	if len(p.delivery) > maxDelivery { // it is only a name: what is left of it tells requests apart as well
		p.delivery = p.delivery[:maxDelivery]
	}
	p.delivery, p.event = strings.ToValidUTF8(p.delivery, "?"), strings.ToValidUTF8(p.event[:min(len(p.event), maxEvent)], "?")
	return p, true
}

// good reports whether a request is signed by one of the secrets of a trigger that uses the scheme. It takes as long
// whatever the secrets are, those of no trigger at all included.
func (p *proof) good(scheme core.SignatureScheme, secrets []string, body []byte, now time.Time) bool {
	good := false
	for i := range maxSecrets {
		text, real := "none", false
		if i < len(secrets) {
			text, real = secrets[i], true
		}
		mac := hmac.New(sha256.New, []byte(text))
		mac.Write([]byte(p.prefix))
		mac.Write(body)
		want := "sha256=" + hex.EncodeToString(mac.Sum(nil))
		token := sha256.Sum256([]byte(text)) // tokens of any length compare alike
		for _, given := range p.given {
			same := hmac.Equal([]byte(given), []byte(want))
			if p.scheme == wire.SchemeGitLab {
				other := sha256.Sum256([]byte(given))
				same = hmac.Equal(other[:], token[:])
			}
			good = good || same && real
		}
	}
	if p.scheme == wire.SchemeWardroom && now.Sub(p.at).Abs() > tolerance {
		good = false
	}
	return good && p.scheme == scheme
}

// keys are what a request is known by: whatever of them was seen before makes it one that was taken before.
func (p *proof) keys(body []byte) []string {
	h := sha256.New()
	h.Write([]byte(p.prefix))
	h.Write(body)
	sum := "body " + hex.EncodeToString(h.Sum(nil))
	switch {
	case p.delivery == "":
		return []string{sum}
	case p.scheme == wire.SchemeGitLab: // whoever has the token could change the body as well
		return []string{"delivery " + p.delivery}
	}
	return []string{sum, "delivery " + p.delivery}
}
