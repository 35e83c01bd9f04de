package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Headers of a request.
const (
	headerSignature = "X-Service-Signature"
	headerEvent     = "X-Service-Event"
	headerDelivery  = "X-Service-Delivery"
	headerTimestamp = "X-Service-Timestamp"
	headerRetries   = "X-Service-Retry-Count"
	headerOriginal  = "X-Service-Original-Timestamp"
)

// ownPrefix is the prefix of the headers that only the service sets.
const ownPrefix = "X-Service-"

// signature makes the header's value: "sha256=" and the hex HMAC over "<timestamp>.<body>" for each secret, the newest
// first, with commas between.
func signature(secrets []string, timestamp string, body []byte) string {
	var b strings.Builder
	for i, text := range secrets {
		if i > 0 {
			b.WriteByte(',')
		}
		mac := hmac.New(sha256.New, []byte(text))
		mac.Write([]byte(timestamp))
		mac.Write([]byte{'.'})
		mac.Write(body)
		b.WriteString("sha256=")
		b.WriteString(hex.EncodeToString(mac.Sum(nil)))
	}
	return b.String()
}

// requestHeader makes the headers of one attempt. Those of the endpoint never replace ours: CheckHeaders refuses them.
func requestHeader(own map[string]string, secrets []string, d *core.Delivery, body []byte, agent string, now time.Time) http.Header {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	h := make(http.Header, 8+len(own))
	h.Set("User-Agent", agent)
	for name, value := range own {
		h.Set(name, value)
	}
	h.Set("Content-Type", "application/json")
	h.Set(headerSignature, signature(secrets, timestamp, body))
	h.Set(headerEvent, string(d.Event))
	h.Set(headerDelivery, d.ID)
	h.Set(headerTimestamp, timestamp)
	if d.FirstAt != nil {
		h.Set(headerRetries, strconv.Itoa(d.Attempts+d.Manual))
		h.Set(headerOriginal, strconv.FormatInt(d.FirstAt.Unix(), 10))
	}
	return h
}
