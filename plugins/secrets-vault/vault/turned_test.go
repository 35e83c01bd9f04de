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
	mount := func(path, version string) {
		t.Helper()
		if err := s.admin.Sys().Mount(path, &api.MountInput{Type: "kv", Options: map[string]string{"version": version}}); err != nil {
			t.Fatal(err)
		}
	}
	unmount := func(path string) {
		t.Helper()
		if err := s.admin.Sys().Unmount(path); err != nil {
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
	mount("turned", "1")
	t.Cleanup(func() { unmount("turned") })
	put("turned/db", map[string]any{"password": "one"})
	p := s.provider(t, s.role(t, "turned", nil), nil)
	has := func(path, want string) {
		t.Helper()
		if got, e := p.resolve(t, path, "password"); e != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, e, want)
		}
	}
	is := func(want string) {
		t.Helper()
		has("turned/db", want)
		// One that is missing, and asked for all the time, does not keep the provider from noticing what changed.
		if _, e := p.resolve(t, "turned/none", "password"); e == nil || e.Code != secret.CodeNotFound {
			t.Errorf("turned/none: %v", e)
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
	unmount("turned")
	mount("turned", "1")
	put("turned/db", map[string]any{"password": "two"})
	is("two")
	unmount("turned")
	mount("turned", "2")
	put("turned/data/db", map[string]any{"data": map[string]any{"password": "three"}})
	is("three")
	unmount("turned")
	mount("turned/team", "1")
	put("turned/team/db", map[string]any{"password": "four"})
	has("turned/team/db", "four")
	unmount("turned/team")
	mount("turned", "2") // which has the paths below it as well
	put("turned/data/team/db", map[string]any{"data": map[string]any{"password": "five"}})
	has("turned/team/db", "five")
	has("turned/team/db", "five")
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
