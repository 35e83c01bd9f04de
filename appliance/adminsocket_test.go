package appliance_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
)

// socketDir makes a directory whose path is short enough for sockets.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestAdminSocketOfAnother starts a second server of a copied unit, whose sockets lie in the directory of the first one: it is
// refused, and the first one keeps its socket, by which it is backed up. A socket that a killed server left is no obstacle.
func TestAdminSocketOfAnother(t *testing.T) {
	dir := socketDir(t)
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RUNTIME_DIRECTORY", run)
	socket := filepath.Join(run, "admin.sock")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	options := func(name string) appliance.Options {
		file := filepath.Join(dir, name+".yaml")
		write(t, file, fmt.Sprintf("server: {listen: '127.0.0.1:0'}\nstore: {path: %s}\n", filepath.Join(dir, name)))
		return appliance.Options{ConfigPath: file, Version: "1.2.3"}
	}
	open(t, options("one"))
	token, err := os.ReadFile(filepath.Join(run, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := appliance.New(options("two"))
	if err != nil {
		t.Fatal(err)
	}
	err = two.Open(t.Context())
	two.Close()
	if core.ErrorCode(err) != core.CodeConflict || !strings.Contains(core.AsError(err).Message, "server.adminSocket") {
		t.Errorf("the second server: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(run, "admin.token")); err != nil || string(after) != string(token) {
		t.Errorf("the token of the first one was %q and is %q, %v", token, after, err)
	}
	conn, err := new(net.Dialer).DialContext(context.Background(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// Servers with sockets of their own in one directory have tokens of their own, whichever starts or ends last.
func TestAdminSocketsInOneDirectory(t *testing.T) {
	dir := socketDir(t)
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	options := func(name string) appliance.Options {
		file := filepath.Join(dir, name+".yaml")
		write(t, file, fmt.Sprintf("server: {listen: '127.0.0.1:0', adminSocket: %s}\nstore: {path: %s}\n",
			filepath.Join(run, name+".sock"), filepath.Join(dir, name)))
		return appliance.Options{ConfigPath: file, Version: "1.2.3"}
	}
	status := func(name string) int {
		t.Helper()
		token, err := os.ReadFile(filepath.Join(run, name+".token"))
		if err != nil {
			t.Fatal(err)
		}
		over := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(run, name+".sock"))
		}}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/admin/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		answer, err := over.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	open(t, options("one"))
	two, err := appliance.New(options("two"))
	if err != nil {
		t.Fatal(err)
	}
	err = two.Open(t.Context())
	if err != nil {
		two.Close()
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		if code := status(name); code != http.StatusOK {
			t.Errorf("%s: status %d", name, code)
		}
	}
	two.Close()
	if code := status("one"); code != http.StatusOK {
		t.Errorf("after the end of the other one: status %d", code)
	}
}
