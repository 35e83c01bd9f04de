package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// dial connects to the holder of an agent through the directory that it shares with this process. The agent may put what
// it likes there: no symlink is followed, and nothing but a socket connected to. What is behind it is judged by its nonce.
func (l *Launcher) dial(ctx context.Context, id string) (net.Conn, error) {
	fd, err := l.openShared(id, socketFile, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, unix.ENOENT
	}
	var d net.Dialer
	// By its descriptor: it is the one that was looked at, and no path is too long for an address.
	return d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", fd))
}

// openShared opens a name in the directory that an agent shares with this process.
func (l *Launcher) openShared(id, name string, flags uint64) (int, error) {
	dir, err := unix.Open(filepath.Join(l.room(id), runDir), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(dir) }()
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags: flags | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ELOOP) {
		err = unix.ENOENT
	}
	return fd, err
}

// maxExit is the most of an exit file that is read, in bytes.
const maxExit = 4 << 10

// readExit reads how the command of a life ended, as its holder left it.
func (l *Launcher) readExit(h handle) (wire.Exited, error) {
	fd, err := l.openShared(h.ID, exitFile, unix.O_RDONLY|unix.O_NONBLOCK) // a FIFO would wait for its writer
	if err != nil {
		return wire.Exited{}, err
	}
	f := os.NewFile(uintptr(fd), exitFile)
	defer func() { _ = f.Close() }() // only read from
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return wire.Exited{}, fs.ErrNotExist
	}
	data, err := io.ReadAll(io.LimitReader(f, maxExit))
	if err != nil {
		return wire.Exited{}, err
	}
	exit, err := wire.ParseExitFile(data)
	if err == nil && exit.Nonce != h.Nonce {
		err = fs.ErrNotExist
	}
	return exit, err
}
