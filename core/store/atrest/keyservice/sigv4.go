package keyservice

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// awsKey is a credential of AWS.
type awsKey struct {
	id, secret, session string
	expires             time.Time // zero: never
}

// String keeps the key out of logs.
func (awsKey) String() string { return "credentials of AWS" }

// GoString is String.
func (k awsKey) GoString() string { return k.String() }

// sign adds Signature Version 4 to a request: over the body, the host and all headers that are set. The request has no query,
// and a path without characters to escape.
func (k awsKey) sign(r *http.Request, body []byte, region, service string, at time.Time) {
	stamp := at.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", stamp)
	if k.session != "" {
		r.Header.Set("X-Amz-Security-Token", k.session)
	}
	headers := map[string]string{"host": r.URL.Host}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.TrimSpace(strings.Join(values, ","))
	}
	names := slices.Sorted(maps.Keys(headers))
	signed := strings.Join(names, ";")
	canonical := r.Method + "\n" + r.URL.EscapedPath() + "\n" + r.URL.RawQuery + "\n"
	for _, name := range names {
		canonical += name + ":" + headers[name] + "\n"
	}
	canonical += "\n" + signed + "\n" + hexSum(body)
	scope := stamp[:8] + "/" + region + "/" + service + "/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hexSum([]byte(canonical))
	key := []byte("AWS4" + k.secret)
	for _, part := range []string{stamp[:8], region, service, "aws4_request"} {
		key = hmacOf(key, part)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+k.id+"/"+scope+", SignedHeaders="+signed+", Signature="+hex.EncodeToString(hmacOf(key, text)))
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func hmacOf(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum(nil)
}
