package appliance

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel who is at the other end of a connection.
func peerOf(conn net.Conn) (peerCredential, error) {
	local, ok := conn.(*net.UnixConn)
	if !ok {
		return peerCredential{}, errors.New("is no connection of a socket with a path")
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return peerCredential{}, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return peerCredential{}, err
	}
	if failed != nil {
		return peerCredential{}, failed
	}
	return peerCredential{uid: cred.Uid, pid: cred.Pid}, nil
}
