package vault

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/vault/api"

	"github.com/wardroom/wardroom/sdk/secret"
)

// An engine may be upgraded, or replaced by one of another version, while the provider knows the mount as it was.
func TestMountTurns(t *testing.T) {
	s := need(t)
	mount := func(version string) {
		t.Helper()
		if err := s.admin.Sys().Mount("turned", &api.MountInput{Type: "kv", Options: map[string]string{"version": version}}); err != nil {
			t.Fatal(err)
		}
	}
	unmount := func() {
		t.Helper()
		if err := s.admin.Sys().Unmount("turned"); err != nil {
			t.Fatal(err)
		}
	}
	put := func(path string, data map[string]any) {
		t.Helper()
		eventually(t, "the engine to take a secret", func() bool {
			_, err := s.admin.Logical().Write(path, data)
			return err == nil
		})
	}
	mount("1")
	t.Cleanup(unmount)
	put("turned/db", map[string]any{"password": "one"})
	p := s.provider(t, s.role(t, "turned", nil), nil)
	is := func(want string) {
		t.Helper()
		if got, e := p.resolve(t, "turned/db", "password"); e != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, e, want)
		}
	}
	is("one")
	if err := s.admin.Sys().TuneMount("turned", api.MountConfigInput{Options: map[string]string{"version": "2"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the upgrade", func() bool {
		got, e := p.resolve(t, "turned/db", "password")
		if e != nil && e.Code != secret.CodeUnavailable {
			t.Errorf("while it is upgraded: %v", e)
			return true
		}
		return got == "one"
	})
	unmount()
	mount("1")
	put("turned/db", map[string]any{"password": "two"})
	is("two")
	unmount()
	mount("2")
	put("turned/data/db", map[string]any{"data": map[string]any{"password": "three"}})
	is("three")
}

// A secret that is missing is asked for over and over: its mount is not looked at each time.
func TestMountSettles(t *testing.T) {
	var looks atomic.Int64
	p := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/sys/internal/ui/mounts/") {
			looks.Add(1)
			_, _ = io.WriteString(w, `{"data": {"path": "kv/", "type": "kv", "options": {"version": "1"}}}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	})
	for range 20 {
		if _, e := p.resolve(t, "kv/db", "a"); e == nil || e.Code != secret.CodeNotFound {
			t.Fatalf("got %v", e)
		}
	}
	if n := looks.Load(); n > 3 { // the first, one behind a refusal, and one more where the test takes over ten seconds
		t.Errorf("the mount is looked at %d times", n)
	}
}
