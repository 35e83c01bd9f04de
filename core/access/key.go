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
	keyMark    = "wr_"
	idLength   = 26 // of a ULID
	secretSize = 32
	sumSize    = 6
	keyLength  = len(keyMark) + idLength + 1 + secretSize + 1 + sumSize
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

// formatKey joins the id of a record and a secret to a key.
func formatKey(id, secret string) string {
	text := keyMark + strings.TrimPrefix(id, core.PrefixAPIKey) + "_" + secret
	return text + "_" + checksum(text)
}

// parseKey takes a key apart. ok is false for a text that cannot be one, which costs no more than its checksum.
func parseKey(text string) (id, secret string, ok bool) {
	if len(text) != keyLength || !strings.HasPrefix(text, keyMark) {
		return "", "", false
	}
	body, sum := text[:keyLength-sumSize-1], text[keyLength-sumSize:]
	if text[len(body)] != '_' || body[len(keyMark)+idLength] != '_' || checksum(body) != sum {
		return "", "", false
	}
	id, secret = core.PrefixAPIKey+body[len(keyMark):len(keyMark)+idLength], body[len(keyMark)+idLength+1:]
	return id, secret, core.ValidID(core.PrefixAPIKey, id) && strings.Trim(secret, base62) == ""
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

// mac returns what is kept of the secret of a key.
func (s *Service) mac(id, secret string) []byte {
	h := hmac.New(sha256.New, s.opts.Pepper[:])
	_, _ = h.Write([]byte(id)) // never fails, nor do the next
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(secret))
	return h.Sum(nil)
}
