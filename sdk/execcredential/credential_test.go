package execcredential_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/execcredential"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const version = "client.authentication.k8s.io/v1"

// giving is a script that gives a credential with a status.
func giving(status string) string {
	return `echo '{"apiVersion": "` + version + `", "kind": "ExecCredential", "status": {` + status + `}}'`
}

// open returns the credential of a script.
func open(t *testing.T, script string, limit time.Duration) *execcredential.Credential {
	t.Helper()
	c, err := execcredential.New(execcredential.Options{Command: "sh", Args: []string{"-c", script}, APIVersion: version, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// end ends the process whose id a file has, where the command has not.
func end(t *testing.T, file string) {
	t.Cleanup(func() {
		if pid := pidOf(file); pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

func pidOf(file string) int {
	data, _ := os.ReadFile(file)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid
}

// A command that hangs is ended with what it started: those who wait learn of it, and the next call gets what it gives then, though
// something that it left has its output open.
func TestInTime(t *testing.T) {
	dir := t.TempDir()
	once, left := filepath.Join(dir, "once"), filepath.Join(dir, "left")
	end(t, once)
	end(t, left)
	var bearer string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { bearer = r.Header.Get("Authorization") }))
	defer server.Close()
	// The limit is one in which a busy machine has the command begin.
	c := open(t, `if [ ! -e `+once+` ]; then sleep 1000 & echo $! >`+once+`; wait; fi; sleep 1000 2>/dev/null & echo $! >`+left+`; `+giving(`"token": "t1"`), 8*time.Second)
	client := &http.Client{Transport: c.Transport(http.DefaultTransport)}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	get := func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	err := get()
	if e := (*execcredential.Error)(nil); !errors.As(err, &e) || e.Command != "sh" || !strings.Contains(e.Why, "has not ended after ") || e.Hint == "" {
		t.Fatalf("the first call ends with %v", err)
	}
	gone(t, once)
	if err := get(); err != nil || bearer != "Bearer t1" {
		t.Errorf("the next call: %v, with %q", err, bearer)
	}
}

// gone waits until the process whose id a file has is there no more: the kernel ends it when it comes to that.
func gone(t *testing.T, file string) {
	t.Helper()
	pid := pidOf(file)
	if pid <= 1 {
		t.Fatal("the command had no time to begin")
	}
	limit := time.After(10 * time.Second)
	for tick := time.Tick(time.Millisecond); runs(pid); {
		select {
		case <-tick:
		case <-limit:
			t.Fatal("what the command started runs on")
		}
	}
}

// runs reports whether a process has not ended. One that waits for its parent to take note has.
func runs(pid int) bool {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, state, ok := strings.Cut(string(data), ") ")
	return pid > 1 && err == nil && ok && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// A call waits for the command no longer than its own time lasts, and Close ends the command.
func TestOwnTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	end(t, file)
	c := open(t, `sleep 1000 & echo $! >`+file+`; wait`, time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Get(ctx); !errors.As(err, new(*execcredential.Error)) {
		t.Errorf("Get: %v", err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := c.Get(t.Context())
		waits <- err
	}()
	limit := time.After(10 * time.Second)
	for tick := time.Tick(time.Millisecond); pidOf(file) <= 1; {
		select {
		case <-tick:
		case <-limit:
			t.Fatal("the command does not begin")
		}
	}
	c.Close()
	gone(t, file)
	if err := <-waits; !errors.Is(err, execcredential.ErrClosed) {
		t.Errorf("a call that waits ends with %v", err)
	}
	if _, err := c.Get(t.Context()); !errors.Is(err, execcredential.ErrClosed) || !errors.Is(err, context.Canceled) {
		t.Errorf("after Close: %v", err)
	}
}

// What the command writes is repeated in no error.
func TestWrites(t *testing.T) {
	const token = "s3cret"
	for want, script := range map[string]string{
		"it is no ExecCredential of " + version + " in JSON": `echo ` + token,
		"it has no status":                         `echo '{"apiVersion": "` + version + `", "kind": "ExecCredential", "spec": "` + token + `"}'`,
		"it has neither a token nor a certificate": giving(`"x": "` + token + `"`),
		"it has a certificate or a key":            giving(`"token": "` + token + `", "clientKeyData": "` + token + `"`),
		"its certificate and key cannot be read":   giving(`"clientCertificateData": "` + token + `", "clientKeyData": "` + token + `"`),
		"writes more than":                         `yes ` + token,
		"fails with exit code 3":                   `echo ` + token + ` >&2; exit 3`,
		"cannot be run: signal: killed":            `echo ` + token + `; kill -9 $$`,
	} {
		t.Run(want, func(t *testing.T) {
			_, err := open(t, script, time.Minute).Get(t.Context())
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token) {
				t.Errorf("got %v", err)
			}
		})
	}
	g, err := open(t, giving(`"token": "`+token+`"`), time.Minute).Get(t.Context())
	if err != nil || g.Token != token || strings.Contains(fmt.Sprintf("%v %s", g, g), token) {
		t.Errorf("%v, %v", g, err)
	}
}

// A call whose credential cannot be had closes its body, as an http.RoundTripper does.
func TestBodyIsClosed(t *testing.T) {
	body := &closing{Reader: strings.NewReader("x")}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1", body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, "exit 1", time.Minute).Transport(http.DefaultTransport).RoundTrip(r); err == nil || !body.closed {
		t.Errorf("%v, closed: %v", err, body.closed)
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// What the command reads: the version that it has, and the cluster where that is given.
func TestRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "request")
	for name, tt := range map[string]struct {
		cluster any
		want    string
	}{
		"Bare":    {nil, `{"apiVersion":"` + version + `","kind":"ExecCredential","spec":{"interactive":false}}`},
		"Cluster": {map[string]string{"server": "https://c"}, `{"apiVersion":"` + version + `","kind":"ExecCredential","spec":{"cluster":{"server":"https://c"},"interactive":false}}`},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := execcredential.New(execcredential.Options{
				Command: "sh", Args: []string{"-c", `printf %s "$KUBERNETES_EXEC_INFO" >"$FILE"; ` + giving(`"token": "t", "expirationTimestamp": "2001-01-01T00:00:00Z"`)},
				Env: []string{"FILE=" + file}, APIVersion: version, Cluster: tt.cluster,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if g, err := c.Get(t.Context()); err != nil || g.Token != "t" {
				t.Fatalf("Get: %v, %v", g, err)
			}
			got, err := os.ReadFile(file)
			if err != nil || !json.Valid(got) || string(got) != tt.want {
				t.Errorf("the command reads %s, %v, want %s", got, err, tt.want)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("a credential that has ended is used on: %v", err)
			}
		})
	}
}

// A section that cannot work is refused before anything runs.
func TestRefused(t *testing.T) {
	for want, o := range map[string]execcredential.Options{
		"needs a terminal": {Command: "sh", APIVersion: version, NeedsTerminal: true},
		"only [":           {Command: "sh", APIVersion: "client.authentication.k8s.io/v1alpha1"},
	} {
		if _, err := execcredential.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}
