package jwt

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/claims"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// Times and bounds of a key set. A key that the issuer took away is trusted until the next refresh; while the issuer
// is away the keys that are known go on for a day. Tokens with ids that are unknown, and those that the key of their id
// did not sign, make at most one fetch in fetchEvery, whoever sends how many of them.
const (
	refreshAfter = 10 * time.Minute
	staleAfter   = 24 * time.Hour
	fetchEvery   = 30 * time.Second
	fetchAtMost  = 5 * time.Minute // between fetches that fail
	fetchTimeout = 10 * time.Second
	maxSetBytes  = 1 << 20
	maxKeys      = 64
	minRSABits   = 2048
)

// keySet is the keys of an issuer, fetched when they are asked for. It is safe for concurrent use.
type keySet struct {
	uri    string
	client *http.Client
	clock  core.Clock
	log    hclog.Logger

	root context.Context // ends what fetches when the set is closed
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex // guards all below
	keys     []jose.JSONWebKey
	fetched  time.Time // of keys; zero: never
	tried    time.Time // when the last fetch began; zero: never
	wait     time.Duration
	backoff  pause.Backoff
	fetching chan struct{} // closed when the fetch that runs is over; nil: none runs
	failed   error         // of the last fetch
}

func newKeySet(uri string, client *http.Client, clock core.Clock, log hclog.Logger) *keySet {
	root, stop := context.WithCancel(context.Background())
	return &keySet{
		uri: uri, client: client, clock: clock, log: log, root: root, stop: stop, wait: fetchEvery,
		backoff: pause.Backoff{First: fetchEvery, Most: fetchAtMost},
	}
}

// close ends a fetch that runs and waits for it.
func (s *keySet) close() {
	s.mu.Lock()
	s.stop() // no fetch begins from here on
	s.mu.Unlock()
	s.done.Wait()
}

// errKeysAway says that the issuer's keys could not be had.
var errKeysAway = errors.New("the keys of the issuer are not at hand")

// find returns the keys that may have signed a token with an id and an algorithm, at most one if it names an id, and when
// they were fetched. It waits for a fetch where the keys are missing or too old, or the id is unknown.
func (s *keySet) find(ctx context.Context, id, algorithm string) (found []any, fetched time.Time, err error) {
	for attempt := 0; ; attempt++ {
		s.mu.Lock()
		now := s.clock.Now()
		known := !s.fetched.IsZero() && now.Sub(s.fetched) < staleAfter
		fetched, found = s.fetched, nil
		if known {
			found = s.match(id, algorithm)
		}
		enough := len(found) > 0
		var busy chan struct{}
		if (!enough || now.Sub(s.fetched) >= refreshAfter) && attempt == 0 {
			busy = s.fetch(now)
		}
		failed := s.failed
		s.mu.Unlock()
		switch {
		case enough:
			return found, fetched, nil
		case busy == nil && !known:
			return nil, fetched, errors.Join(errKeysAway, failed)
		case busy == nil:
			return nil, fetched, errors.New("no key of the issuer has this id and algorithm")
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, fetched, errors.Join(errKeysAway, ctx.Err())
		}
	}
}

// renew has the keys fetched again, unless that was tried a moment ago, and waits for it. It reports whether they are others
// than those that were fetched at a time: an issuer may replace a key under the same id.
func (s *keySet) renew(ctx context.Context, former time.Time) bool {
	s.mu.Lock()
	var busy chan struct{}
	if s.fetched.Equal(former) {
		busy = s.fetch(s.clock.Now())
	}
	s.mu.Unlock()
	if busy != nil {
		select {
		case <-busy:
		case <-ctx.Done():
			return false
		}
	}
	fetched, _ := s.state()
	return !fetched.Equal(former)
}

// match returns the public keys for an id (empty: any) and an algorithm. The caller holds mu.
func (s *keySet) match(id, algorithm string) []any {
	var found []any
	for _, k := range s.keys {
		if (id == "" || k.KeyID == id) && (k.Algorithm == "" || k.Algorithm == algorithm) && fits(k.Key, algorithm) {
			found = append(found, k.Key)
		}
	}
	return found
}

// fetch begins to fetch the keys, unless that runs or was tried a moment ago; it returns what is closed when the fetch
// is over, nil if none runs. The caller holds mu.
func (s *keySet) fetch(now time.Time) chan struct{} {
	if s.fetching != nil {
		return s.fetching
	}
	if s.root.Err() != nil || !s.tried.IsZero() && now.Sub(s.tried) < s.wait {
		return nil
	}
	s.tried = now
	over := make(chan struct{})
	s.fetching = over
	s.done.Go(func() {
		keys, err := s.download()
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.keys, s.fetched = keys, s.clock.Now()
			s.backoff.Reset()
			s.wait = fetchEvery
		} else {
			s.wait = s.backoff.Next()
			if s.root.Err() == nil {
				s.log.Warn("keys of tokens cannot be fetched", "uri", s.uri, "error", err, "next", s.wait)
			}
		}
		s.failed = err
		s.fetching = nil
		close(over)
	})
	return over
}

// download gets the key set and keeps what can verify tokens of ours.
func (s *keySet) download() ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(s.root, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.uri, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxSetBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxSetBytes:
		return nil, fmt.Errorf("more than %d bytes", maxSetBytes)
	}
	return parseKeys(text)
}

// parseKeys reads a JSON Web Key Set (RFC 7517). Keys that are of no use here (symmetric, weak, for encryption, of a
// kind that is not known) are left out, as the standard wants it.
func parseKeys(text []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("no key set in JSON")
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var k jose.JSONWebKey
		if err := k.UnmarshalJSON(raw); err != nil || k.Use != "" && k.Use != "sig" || len(k.KeyID) > claims.MaxText {
			continue
		}
		public := k.Public() // empty for symmetric keys
		if !strong(public.Key) {
			continue
		}
		if len(keys) == maxKeys {
			return nil, fmt.Errorf("more than %d keys", maxKeys)
		}
		keys = append(keys, public)
	}
	if len(keys) == 0 {
		return nil, errors.New("a key set without a key that signs")
	}
	return keys, nil
}

func strong(key any) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minRSABits && k.N.BitLen() <= 8192 && k.E >= 3
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}

// fits reports whether a key is of the kind, and the curve, that an algorithm of RFC 7518 or RFC 8037 wants.
func fits(key any, algorithm string) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return algorithm[:2] == "RS" || algorithm[:2] == "PS"
	case *ecdsa.PublicKey:
		return curves[algorithm] == k.Curve.Params().Name
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA)
	}
	return false
}

var curves = map[string]string{"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}

// state returns when the keys were fetched, and why they could not be since.
func (s *keySet) state() (fetched time.Time, failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetched, s.failed
}
