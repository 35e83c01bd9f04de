package local

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"golang.org/x/sys/unix"
)

// Identity returns the identity of a state directory on its machine, which it keeps when it is renamed and a copy of it does not have:
// its device and inode, as a digest. On other machines there may be directories with the same. A launcher marks with it what it starts,
// so that a restored copy of an installation leaves the agents of the original alone.
func Identity(dir string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%d", stat.Dev, stat.Ino))
	return hex.EncodeToString(sum[:8]), nil
}
