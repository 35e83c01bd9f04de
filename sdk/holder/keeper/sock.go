package keeper

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// sock is a connection over a unix socket. The package net would do the same, and costs a megabyte of memory in
// each holding process.
type sock struct {
	*os.File
	raw syscall.RawConn
}

// maxPath is the longest path of a socket.
const maxPath = 107

var errPath = errors.New("the path of the socket is empty or longer than " + strconv.Itoa(maxPath) + " bytes")

// newSock takes over a socket, which must not block.
func newSock(fd int) (*sock, error) {
	file := os.NewFile(uintptr(fd), "socket")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &sock{File: file, raw: raw}, nil
}

// dialSock connects. It waits at most limit for a listener that is behind.
func dialSock(path string, limit time.Duration) (*sock, error) {
	if path == "" || len(path) > maxPath {
		return nil, errPath
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	timeout := unix.NsecToTimeval(limit.Nanoseconds())
	err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return newSock(fd)
}

// writev writes both parts, in one call where the kernel takes all of it, and tells how much went out.
func (s *sock) writev(head, body []byte) (n int, err error) {
	parts := [2][]byte{head, body}
	iovecs := parts[:]
	waitErr := s.raw.Write(func(fd uintptr) bool {
		for len(iovecs) > 0 {
			var wrote int
			wrote, err = unix.Writev(int(fd), iovecs)
			switch {
			case errors.Is(err, unix.EINTR):
				continue
			case errors.Is(err, unix.EAGAIN):
				return false
			case err != nil:
				return true
			}
			n += wrote
			for len(iovecs) > 0 && wrote >= len(iovecs[0]) {
				wrote -= len(iovecs[0])
				iovecs = iovecs[1:]
			}
			if len(iovecs) > 0 {
				iovecs[0] = iovecs[0][wrote:]
			}
		}
		return true
	})
	if waitErr != nil {
		err = waitErr
	}
	return n, err
}

// peer returns the user and the process of the other side.
func (s *sock) peer() (uid uint32, pid int, err error) {
	var cred *unix.Ucred
	waitErr := s.raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(waitErr, err); err != nil {
		return 0, 0, err
	}
	return cred.Uid, int(cred.Pid), nil
}

// listener accepts connections on a socket that only this user, and that of the command, may use.
type listener struct {
	*sock
	path string
	ino  uint64
	once sync.Once // of close: once it is closed, a later holder's socket may have the number
}

// listen makes the socket, for this user, and for another one if there is one. One that a dead holder left is replaced;
// one that somebody listens on is not.
func listen(path string, user *wire.User) (*listener, error) {
	switch conn, err := dialSock(path, time.Second); {
	case err == nil:
		_ = conn.Close()
		return nil, unix.EADDRINUSE
	case errors.Is(err, unix.EAGAIN): // it is behind, as one that is stopped
		return nil, unix.EADDRINUSE
	case errors.Is(err, errPath):
		return nil, err
	}
	_ = os.Remove(path)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	old := unix.Umask(0o177)
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	unix.Umask(old)
	var stat unix.Stat_t
	if err == nil {
		err = unix.Lstat(path, &stat)
	}
	if err == nil && user != nil {
		// Root, or who may change owners, may use it all the same.
		err = unix.Lchown(path, int(user.UID), -1)
	}
	if err == nil {
		err = unix.Listen(fd, 64)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	s, err := newSock(fd)
	if err != nil {
		return nil, err
	}
	return &listener{sock: s, path: path, ino: stat.Ino}, nil
}

// accept waits for a connection.
func (l *listener) accept() (*sock, error) {
	var fd int
	var err error
	waitErr := l.raw.Read(func(listening uintptr) bool {
		for {
			fd, _, err = unix.Accept4(int(listening), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
			if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ECONNABORTED) {
				return !errors.Is(err, unix.EAGAIN)
			}
		}
	})
	if waitErr != nil {
		return nil, waitErr
	}
	if err != nil {
		return nil, err
	}
	return newSock(fd)
}

// close stops listening, and removes the socket unless a later holder has put its own there.
func (l *listener) close() {
	l.once.Do(func() {
		var stat unix.Stat_t
		if unix.Lstat(l.path, &stat) == nil && stat.Ino == l.ino {
			_ = os.Remove(l.path)
		}
		_ = l.Close()
	})
}
