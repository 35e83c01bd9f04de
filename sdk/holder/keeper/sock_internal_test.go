package keeper

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestListenBeside leaves a socket alone that is listened on, also if its holder is stopped and takes no connection.
func TestListenBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first, err := listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.close()
	for full := false; !full; {
		conn, err := dialSock(path, time.Millisecond)
		if full = errors.Is(err, unix.EAGAIN); full {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	second, err := listen(path, nil)
	if !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("beside a socket that is behind: %v, want EADDRINUSE", err)
	}
	if err == nil {
		second.close()
	}
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil || stat.Ino != first.ino {
		t.Errorf("the socket is another one: %v", err)
	}
}
