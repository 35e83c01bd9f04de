package sso

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxReturn bounds where a browser goes afterwards, in bytes: it travels in a cookie.
const maxReturn = 1024

// attempt is the state of a sign-in that the browser keeps, sealed, until it comes back.
type attempt struct {
	State    string    `json:"s"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"` // of PKCE
	Issuer   string    `json:"i"`
	Redirect string    `json:"r"`
	Return   string    `json:"b,omitempty"`
	Ends     time.Time `json:"e"`
}

// random returns a text of 256 random bits.
func random() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails: crypto/rand ends the process first
	return base64.RawURLEncoding.EncodeToString(raw)
}

// sealer seals attempts under a key of the server.
type sealer struct{ cipher.AEAD }

func newSealer(key [32]byte) (sealer, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

const sealedFor = "wardroom sign-in"

func (s sealer) seal(a *attempt) (string, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.Seal(nil, nil, text, []byte(sealedFor))), nil
}

func (s sealer) open(kept string) (*attempt, error) {
	if len(kept) > 4<<10 {
		return nil, errors.New("the cookie of the attempt is too long")
	}
	sealed, err := base64.RawURLEncoding.DecodeString(kept)
	if err != nil {
		return nil, errors.New("the cookie of the attempt is not readable")
	}
	text, err := s.Open(nil, nil, sealed, []byte(sealedFor))
	if err != nil {
		return nil, errors.New("the cookie of the attempt is not ours")
	}
	a := new(attempt)
	return a, json.Unmarshal(text, a)
}

// maxAnswered bounds the states that are remembered; beyond that the oldest go, which the provider, to whom their codes
// are known, refuses still.
const maxAnswered = 50_000

// answered remembers the states that were answered, until they end. The zero value is ready.
type answered struct {
	mu   sync.Mutex // guards below
	ends map[[sha256.Size]byte]time.Time
}

// once reports whether a state was not answered before, and remembers it.
func (a *answered) once(state string, ends, now time.Time) bool {
	sum := sha256.Sum256([]byte(state))
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, seen := a.ends[sum]; seen {
		return false
	}
	if a.ends == nil {
		a.ends = map[[sha256.Size]byte]time.Time{}
	}
	if len(a.ends) >= maxAnswered {
		for other, end := range a.ends {
			if !now.Before(end) {
				delete(a.ends, other)
			}
		}
		for other := range a.ends {
			if len(a.ends) < maxAnswered {
				break
			}
			delete(a.ends, other)
		}
	}
	a.ends[sum] = ends
	return true
}

// LocalPath returns where a browser may be sent within this site; "" for anything that could lead elsewhere. Browsers take
// a backslash for a slash, pass over tabs and line ends, and take what begins with two slashes for a host.
func LocalPath(text string) string {
	switch {
	case !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || len(text) > maxReturn || !utf8.ValidString(text):
		return ""
	case strings.ContainsRune(text, '\\') || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return ""
	}
	path, _, _ := strings.Cut(text, "?")
	if strings.Contains(path, "/auth/login") || strings.Contains(path, "/auth/logout") || strings.Contains(path, "/auth/callback") {
		return "" // in circles, or out again; the path of server.baseUrl may stand before it
	}
	return text
}
