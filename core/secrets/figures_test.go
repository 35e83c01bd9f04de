package secrets_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/secrets"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Figures tell uses, answers, what is in memory and how old it is, whatever becomes of the provider.
func TestFigures(t *testing.T) {
	r := newRig(t, nil)
	vault := func() secrets.Figures {
		for _, f := range r.Figures() {
			if f.Provider == "vault" {
				return f
			}
		}
		t.Fatal("no figures of the provider")
		return secrets.Figures{}
	}
	want := secrets.Figures{Provider: "vault", Fetches: map[string]int64{"OK": 0}}
	check := func(what string) {
		t.Helper()
		if got := vault(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	check("at the start")
	r.vault.put("db", "p", canary, "1", time.Time{})
	r.wants(t, "p", canary)
	r.wants(t, "p", canary)
	r.clock.Advance(30 * time.Second)
	want.Misses, want.Hits, want.Fetches["OK"], want.Cached, want.Bytes, want.Oldest = 1, 1, 1, 1, len(canary), 30*time.Second
	check("one secret")
	r.fails(t, "gone", secret.CodeNotFound)
	r.fails(t, "gone", secret.CodeNotFound) // not asked for again at once
	want.Misses, want.Fetches["NOT_FOUND"], want.Failed = 3, 1, 1
	check("one that is missing")
	r.vault.fail(&secret.Error{Code: secret.CodeForbidden, Message: "the login is refused", Retry: true})
	r.clock.Advance(31 * time.Second)
	r.wants(t, "p", canary)
	want.Misses, want.Fetches["FORBIDDEN"], want.Stale, want.Oldest = 4, 1, 1, 61*time.Second
	check("while the provider refuses")
	r.vault.fail(nil)
	r.clock.Advance(time.Minute)
	r.wants(t, "p", canary)
	want.Misses, want.Fetches["OK"], want.Stale, want.Oldest = 5, 2, 0, 0
	check("when it answers again")
}

// TestFiguresOfManyCodes checks that a provider whose errors have a new code each does not fill the memory with them.
func TestFiguresOfManyCodes(t *testing.T) {
	r := newRig(t, nil)
	for i := range 100 {
		code := secret.Code(fmt.Sprint("CODE_", i))
		r.vault.fail(&secret.Error{Code: code, Message: "no"})
		r.fails(t, fmt.Sprint("secret", i), code)
	}
	for _, f := range r.Figures() {
		if f.Provider == "vault" && (len(f.Fetches) > 65 || f.Fetches["other"] < 30) {
			t.Errorf("%d codes, %d others", len(f.Fetches), f.Fetches["other"])
		}
	}
}
