package vault

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/hashicorp/go-hclog"
)

// suspended returns a time as a machine has it that was suspended for a while: the time of day went on, and its own clock stood still.
func suspended(t time.Time, seconds uint64) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += seconds << 30 //nolint:gosec // what package time documents of a Time with both clocks
	return t
}

// A machine that was suspended until credentials had ended holds none of them, nor the token.
func TestSuspended(t *testing.T) {
	began := time.Now()
	if now := suspended(began, 7200); now.Sub(began) != 0 || now.Round(0).Sub(began.Round(0)) != 2*time.Hour {
		t.Fatalf("the clocks of a time are kept in another way: %s", now)
	}
	var made, asleep atomic.Uint64
	config := fakeConfig(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/leased/creds/app" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprintf(w, `{"lease_id": "leased/creds/app/1", "lease_duration": 3600, "renewable": true, "data": {"username": "u%d"}}`, made.Add(1))
	})
	p, err := openBy(config, hclog.NewNullLogger(), func() time.Time { return suspended(time.Now(), asleep.Load()) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.close(context.Background()) }()
	for i, want := range []string{"u1", "u1", "u2", "u2"} {
		if i == 2 {
			asleep.Store(7200)
		}
		if got, e := p.resolve(t, "leased/creds/app", "username"); e != nil || got != want {
			t.Errorf("at step %d it is %q, %v, want %s", i, got, e, want)
		}
	}
}

// A machine that was suspended until little was left of a token and of a credential renews both.
func TestRenewsAfterSuspension(t *testing.T) {
	var asleep atomic.Uint64
	renewed := make(chan string, 100)
	config := fakeConfig(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/leased/creds/app":
			_, _ = fmt.Fprint(w, `{"lease_id": "leased/creds/app/1", "lease_duration": 3600, "renewable": true, "data": {"username": "u"}}`)
		case "/v1/auth/token/renew-self":
			renewed <- "token"
			_, _ = fmt.Fprint(w, `{"auth": {"client_token": "hvs.t", "lease_duration": 3600, "renewable": true}}`)
		case "/v1/sys/leases/renew":
			renewed <- "credential"
			_, _ = fmt.Fprint(w, `{"lease_id": "leased/creds/app/1", "lease_duration": 3600, "renewable": true}`)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	})
	p, err := openBy(config, hclog.NewNullLogger(), func() time.Time { return suspended(time.Now(), asleep.Load()) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.close(context.Background()) }()
	if got, e := p.resolve(t, "leased/creds/app", "username"); e != nil || got != "u" {
		t.Fatalf("%q, %v", got, e)
	}
	asleep.Store(3000)
	late := time.After(30 * time.Second)
	for found := map[string]bool{}; len(found) < 2; {
		select {
		case what := <-renewed:
			found[what] = true
		case <-late:
			t.Fatalf("renewed are %v alone", found)
		}
	}
}
