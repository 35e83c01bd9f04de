package jwt_test

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/jwt"
)

// roundTrip is a transport that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Once a Verifier is closed it asks for no keys, whoever verifies still.
func TestCloseWhileVerifying(t *testing.T) {
	i := newIssuer(t)
	token := sign("rsa", members{"alg": "RS256", "kid": "rsa"}, i.claims(nil).part())
	for range 1000 {
		var closed, late atomic.Bool
		v, err := jwt.New(jwt.Options{
			Issuer: "https://id.example", Audience: "wardroom", KeySetURI: i.URL, Clock: coretest.NewClock(), Logger: hclog.NewNullLogger(),
			Client: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				if closed.Load() {
					late.Store(true)
				}
				return nil, errors.New("away")
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		begun := make(chan struct{})
		wg.Go(func() {
			close(begun)
			_, _ = v.Verify(t.Context(), token)
		})
		<-begun
		v.Close()
		closed.Store(true)
		wg.Wait()
		v.Close() // joins what is late
		if late.Load() {
			t.Fatal("it asks for keys though it is closed")
		}
	}
}
