package sso

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
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

// maxAnswered bounds the states that are remembered. Beyond that those go that led to nothing, of which one client can make any
// number, and only then those of people who signed in; the oldest of each first. The provider, which knows their codes, refuses
// them still.
const maxAnswered = 50_000

// answered remembers the states that were answered, until they end. The zero value is ready.
type answered struct {
	mu     sync.Mutex // guards below
	states map[[sha256.Size]byte]answer
}

type answer struct {
	ends   time.Time
	failed bool // no person is signed in by it, nor being signed in
}

// once reports whether a state was not answered before, and remembers it.
func (a *answered) once(state string, ends, now time.Time) bool {
	sum := sha256.Sum256([]byte(state))
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, seen := a.states[sum]; seen {
		return false
	}
	if a.states == nil {
		a.states = map[[sha256.Size]byte]answer{}
	}
	if len(a.states) >= maxAnswered {
		a.tidy(now)
	}
	a.states[sum] = answer{ends: ends}
	return true
}

// failed notes that a state led to nothing.
func (a *answered) failed(state string) {
	sum := sha256.Sum256([]byte(state))
	a.mu.Lock()
	defer a.mu.Unlock()
	if one, there := a.states[sum]; there {
		one.failed = true
		a.states[sum] = one
	}
}

// tidy makes room: what is over goes, and if that is little, a tenth of the others. The caller holds mu.
func (a *answered) tidy(now time.Time) {
	const most = maxAnswered - maxAnswered/10
	maps.DeleteFunc(a.states, func(_ [sha256.Size]byte, one answer) bool { return !now.Before(one.ends) })
	if len(a.states) <= most {
		return
	}
	sums := slices.SortedFunc(maps.Keys(a.states), func(x, y [sha256.Size]byte) int {
		one, other := a.states[x], a.states[y]
		if one.failed != other.failed {
			if one.failed {
				return -1
			}
			return 1
		}
		return one.ends.Compare(other.ends)
	})
	for _, sum := range sums[:len(sums)-most] {
		delete(a.states, sum)
	}
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
