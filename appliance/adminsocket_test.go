package appliance_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
)

// TestAdminSocketOfAnother starts a second server of a copied unit, whose sockets lie in the directory of the first one: it is
// refused, and the first one keeps its socket, by which it is backed up. A socket that a killed server left is no obstacle.
func TestAdminSocketOfAnother(t *testing.T) {
	dir, err := os.MkdirTemp("", "wr") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
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
