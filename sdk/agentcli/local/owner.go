package local

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Owner is a user of this machine.
type Owner struct{ UID, GID uint32 }

// HandOver gives a room to the Owner of the rooms: the directories of the room, and of a work directory that the service
// made for an agent all files, with what git keeps of it. given says that the spec named the work directory. What others
// own is left as it is. Nothing follows a symlink out of what is given, whatever an earlier life of the agent left there.
// Without an Owner it does nothing. SPAWN_FAILED.
func (r *Rooms) HandOver(room agentcli.Room, given bool) error {
	o := r.Owner
	if o == nil {
		return nil
	}
	failed := func(err error) error {
		return runtime.Errorf(runtime.CodeSpawnFailed, "give the room of the agent to user %d: %v", o.UID, err)
	}
	for _, dir := range []string{room.Home, room.Temp} {
		if err := o.own(dir); err != nil {
			return failed(err)
		}
	}
	if given && !r.Provided(room.Workdir) {
		return nil
	}
	if err := o.own(room.Workdir); err != nil {
		return failed(err)
	}
	if g := room.Git; g.Linked() && r.Provided(room.Workdir) { // its repository is the service's, wherever that is
		if err := o.own(g.Dir); err != nil {
			return failed(err)
		}
		for _, name := range []string{"objects", "refs", "logs"} {
			if err := o.share(filepath.Join(g.Common, name)); err != nil {
				return failed(err)
			}
		}
	}
	return nil
}

// own makes the owner the owner of a directory and all that is in it, unless it owns the directory already.
func (o *Owner) own(dir string) error {
	var stat unix.Stat_t
	if err := unix.Lstat(dir, &stat); err != nil || stat.Uid == o.UID {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	// What is in it comes first: a walk that was cut off is made again.
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		err = root.Lchown(path, int(o.UID), int(o.GID))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return root.Chown(".", int(o.UID), int(o.GID))
}

// Names of the extended attributes that hold access lists.
const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
)

// share lets the owner read and write a directory of the service and all that is in it, now and later, beside the
// service itself: several agents and the service write into the same repository.
func (o *Owner) share(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if !entry.IsDir() && !entry.Type().IsRegular() {
			return nil
		}
		f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		defer func() { _ = f.Close() }() // only read from
		done, err := o.shareFile(f)
		if done && err == nil && entry.IsDir() && path != "." {
			return fs.SkipDir // what is made in it gets the list of the directory
		}
		return err
	})
}

// shareFile puts the access list on one file or directory; done tells that it had that before.
func (o *Owner) shareFile(f *os.File) (done bool, err error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return false, err
	}
	if stat.Uid == o.UID {
		return false, nil
	}
	dir := stat.Mode&unix.S_IFMT == unix.S_IFDIR
	if !dir && (stat.Nlink > 1 || stat.Mode&0o200 == 0) {
		return false, nil // a link of a file elsewhere, or one that nobody writes, such as git's objects
	}
	list := o.list(stat.Mode, dir)
	mine := list[12:20] // its second entry, the owner's
	have := make([]byte, 4<<10)
	if n, err := unix.Fgetxattr(int(f.Fd()), accessList, have); err == nil && bytes.Contains(have[:n], mine) {
		return true, nil
	}
	names := []string{accessList}
	if dir {
		names = []string{defaultList, accessList}
	}
	for _, name := range names {
		if err := unix.Fsetxattr(int(f.Fd()), name, list, 0); err != nil {
			if errors.Is(err, unix.EOPNOTSUPP) {
				return false, fmt.Errorf("the file system of %s keeps no access lists: put threads.root on one that does", f.Name())
			}
			return false, &os.PathError{Op: "setxattr", Path: f.Name(), Err: err}
		}
	}
	return false, nil
}

// Tags of entries of an access list, as the kernel has them (posix_acl_xattr.h).
const (
	listVersion = 2
	tagOwner    = 0x01
	tagUser     = 0x02
	tagGroup    = 0x04
	tagMask     = 0x10
	tagOther    = 0x20
	noID        = ^uint32(0)
)

// list is the access list of a file: that of its mode, and the owner, which may do what the owner may.
func (o *Owner) list(mode uint32, dir bool) []byte {
	owner := uint16(mode >> 6 & 7)
	entry := func(b []byte, tag, rights uint16, id uint32) []byte {
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, rights)
		return binary.LittleEndian.AppendUint32(b, id)
	}
	group, other := uint16(mode>>3&5), uint16(mode&5)
	if dir {
		owner = 7
	}
	b := binary.LittleEndian.AppendUint32(nil, listVersion)
	b = entry(b, tagOwner, owner, noID)
	b = entry(b, tagUser, owner, o.UID)
	b = entry(b, tagGroup, group, noID)
	b = entry(b, tagMask, owner|group, noID)
	return entry(b, tagOther, other, noID)
}
