package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// Lengths of the parts of a key.
const (
	idLength   = 26 // of a ULID
	secretSize = 32
	sumSize    = 6
)

// form is how credentials of a kind look: mark, id, secret and checksum.
type form struct {
	mark   string // what they begin with
	prefix string // of the ids of their records
}

var (
	keyForm     = form{mark: "wr_", prefix: core.PrefixAPIKey}
	sessionForm = form{mark: "wrs_", prefix: core.PrefixSession}
	tokenForm   = form{mark: "wra_", prefix: core.PrefixToken} // registration tokens of agents
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newSecret returns a random secret.
func newSecret() (string, error) {
	out := make([]byte, 0, secretSize)
	var raw [secretSize]byte
	for len(out) < secretSize {
		if _, err := rand.Read(raw[:]); err != nil {
			return "", err
		}
		for _, b := range raw {
			// Of 256 values the first 248 are four times all digits; the rest would favour some.
			if b < 248 && len(out) < secretSize {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out), nil
}

// join makes a credential of the id of a record and a secret.
func (f form) join(id, secret string) string {
	text := f.mark + strings.TrimPrefix(id, f.prefix) + "_" + secret
	return text + "_" + checksum(text)
}

// cut takes a credential apart. ok is false for a text that cannot be one, which costs no more than its checksum.
func (f form) cut(text string) (id, secret string, ok bool) {
	length := len(f.mark) + idLength + 1 + secretSize + 1 + sumSize
	if len(text) != length || !strings.HasPrefix(text, f.mark) {
		return "", "", false
	}
	body, sum := text[:length-sumSize-1], text[length-sumSize:]
	at := len(f.mark) + idLength
	if text[len(body)] != '_' || body[at] != '_' || checksum(body) != sum {
		return "", "", false
	}
	id, secret = f.prefix+body[len(f.mark):at], body[at+1:]
	return id, secret, core.ValidID(f.prefix, id) && strings.Trim(secret, base62) == ""
}

// checksum returns the CRC-32 of a text in base62.
func checksum(text string) string {
	n := crc32.ChecksumIEEE([]byte(text))
	var out [sumSize]byte
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = base62[n%62]
		n /= 62
	}
	return string(out[:])
}

// mac returns what is kept of the secret of a record.
func (s *Service) mac(id, secret string) []byte { return macOf(s.opts.Pepper, id, secret) }

// macOf returns what is kept of a secret.
func macOf(pepper [32]byte, id, secret string) []byte {
	h := hmac.New(sha256.New, pepper[:])
	_, _ = h.Write([]byte(id)) // never fails, nor do the next
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(secret))
	return h.Sum(nil)
}
