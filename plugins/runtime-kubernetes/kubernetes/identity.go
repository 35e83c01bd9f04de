package kubernetes

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/holder/life"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// identity is kept in a state directory to tell it from all others that have pods in the cluster, which may be on other machines:
// there device and inode can be the same, as with volumes that were made alike. The directory keeps it on another node and after another
// mount, where its device has another number, and a copy of the directory gets one of its own.
type identity struct {
	Owner string `json:"owner"`
	Inode uint64 `json:"inode"`          // of the directory
	Born  int64  `json:"born,omitempty"` // when the directory was made, in nanoseconds since 1970; 0 where its file system does not know
}

// identityFile is the name of the file in a state directory.
const identityFile = "identity.json"

// identityOf returns the identity of a state directory, and makes it where there is none. An earlier version took the place of the
// directory for it: where agents has what that version stored of agents, these are not given up.
func identityOf(dir, agents string) (string, error) {
	now, err := placeOf(dir)
	if err != nil {
		return "", err
	}
	stored, err := os.ReadDir(agents)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, identityFile)
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist) && len(stored) > 0:
		if now.Owner, err = local.Identity(dir); err != nil {
			return "", err
		}
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return "", err
	default:
		var kept identity
		if json.Unmarshal(data, &kept) != nil || kept.Owner == "" || labelValue(kept.Owner) != kept.Owner {
			return "", &runtime.Error{
				Code: runtime.CodeInvalidArgument, Field: "stateDir", Message: file + " is damaged: it does not name the pods of this directory",
				Hint: `take the label wardroom.io/owner of its pods for "owner" there, or remove the file, and the pods with that label`,
			}
		}
		if kept.Inode == 0 { // a person wrote it: it counts for this place
			now.Owner = kept.Owner
			break
		}
		if kept.Inode == now.Inode && (kept.Born == now.Born || kept.Born == 0 || now.Born == 0) {
			return kept.Owner, nil
		}
	}
	if data, err = json.Marshal(now); err != nil {
		return "", err
	}
	return now.Owner, life.WriteRecord(file, data)
}

// placeOf returns an identity that no directory has, at the place of one.
func placeOf(dir string) (identity, error) {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // it does not fail
	now := identity{Owner: hex.EncodeToString(random)}
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_INO|unix.STATX_BTIME, &stat); err != nil {
		return now, fmt.Errorf("look at %s: %w", dir, err)
	}
	now.Inode = stat.Ino
	if stat.Mask&unix.STATX_BTIME != 0 {
		now.Born = stat.Btime.Sec*1e9 + int64(stat.Btime.Nsec)
	}
	return now, nil
}
