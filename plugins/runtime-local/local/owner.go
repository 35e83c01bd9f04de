package local

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"golang.org/x/sys/unix"
)

// ownerOf returns the identity of a state directory, which it keeps when it is renamed and a copy of it does not
// have: its device and inode. It means nothing after a reboot, which no agent survives.
func ownerOf(dir string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%d", stat.Dev, stat.Ino))
	return hex.EncodeToString(sum[:8]), nil
}

// owns reports whether a life was begun from this state directory. Handles of a release that did not note that are
// judged by their socket, whose name is made of the directory's.
func (l *Launcher) owns(h handle) bool {
	if h.Owner == "" {
		return h.Socket == l.socket(h.ID)
	}
	return h.Owner == l.owner
}
