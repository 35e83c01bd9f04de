package cloudwatch

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// credentials sign requests.
type credentials struct {
	id, secret, session string
	expires             time.Time // zero: never
}

// sign adds the headers of Signature Version 4 to those of a POST to the root of a service.
func (c credentials) sign(header http.Header, endpoint, region, service string, body []byte, now time.Time) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	stamp := now.UTC().Format("20060102T150405Z")
	header.Set("X-Amz-Date", stamp)
	if c.session != "" {
		header.Set("X-Amz-Security-Token", c.session)
	}
	headers := map[string]string{"host": u.Host}
	for name := range header {
		headers[strings.ToLower(name)] = strings.TrimSpace(header.Get(name))
	}
	names := slices.Sorted(maps.Keys(headers))
	path := cmp.Or(u.EscapedPath(), "/")
	var canonical strings.Builder
	canonical.WriteString("POST\n" + path + "\n\n")
	for _, name := range names {
		canonical.WriteString(name + ":" + headers[name] + "\n")
	}
	signed := strings.Join(names, ";")
	canonical.WriteString("\n" + signed + "\n" + sum(body))
	scope := stamp[:8] + "/" + region + "/" + service + "/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + sum([]byte(canonical.String()))
	key := []byte("AWS4" + c.secret)
	for _, part := range []string{stamp[:8], region, service, "aws4_request"} {
		key = mac(key, part)
	}
	header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s", c.id, scope, signed, hex.EncodeToString(mac(key, text))))
	return nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum(nil)
}
