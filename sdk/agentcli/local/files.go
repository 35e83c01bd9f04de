package local

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// maxRead bounds a file that Room.ReadFile returns, in bytes.
const maxRead = 64 << 20

// Write writes what an adapter wants in the room before the command starts: inside its home and work directory, and
// nowhere else. The agent may have put symlinks there in an earlier life, so none is followed. The files are the
// Owner's. SPAWN_FAILED names the file.
func (r *Rooms) Write(room agentcli.Room, files []agentcli.File) error {
	for _, file := range files {
		dir, rest, ok := inside(file.Path, room.Home, room.Workdir)
		if !ok {
			return runtime.Errorf(runtime.CodeSpawnFailed, "the file %s is outside of the agent's room", file.Path)
		}
		if err := writeInside(dir, rest, file, r.Owner); err != nil {
			return runtime.Errorf(runtime.CodeSpawnFailed, "write %s: %v", file.Path, err)
		}
	}
	return nil
}

// noLinks makes openat2 fail rather than follow a symlink or leave the directory.
const noLinks = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// writeInside replaces the file rest below root at once, or keeps it.
func writeInside(root, rest string, file agentcli.File, owner *Owner) error {
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	parent, name := path.Split(rest)
	if parent = strings.TrimSuffix(parent, "/"); parent != "" {
		next, err := makePath(dir, parent, owner)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(next) }()
		dir = next
	}
	var stat unix.Stat_t
	err = unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case err == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR:
		return errors.New("a directory is in its place")
	case err == nil && file.Keep && stat.Mode&unix.S_IFMT == unix.S_IFREG:
		return nil
	case err != nil && !errors.Is(err, unix.ENOENT):
		return err
	}
	return replace(dir, name, file, owner)
}

// makePath opens the directory at a path below dir, making what is missing of it, 0700.
func makePath(dir int, rest string, owner *Owner) (int, error) {
	at, err := unix.Dup(dir)
	if err != nil {
		return 0, err
	}
	for part := range strings.SplitSeq(rest, "/") {
		err := unix.Mkdirat(at, part, 0o700)
		if err == nil && owner != nil {
			err = unix.Fchownat(at, part, int(owner.UID), int(owner.GID), unix.AT_SYMLINK_NOFOLLOW)
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			_ = unix.Close(at)
			return 0, fmt.Errorf("%s: %w", part, err)
		}
		next, err := unix.Openat2(at, part, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: noLinks})
		_ = unix.Close(at)
		if err != nil {
			if errors.Is(err, unix.ELOOP) {
				return 0, fmt.Errorf("%s is a symlink, which is not followed", part)
			}
			return 0, fmt.Errorf("%s: %w", part, err)
		}
		at = next
	}
	return at, nil
}

// replace writes beside the file and renames, which also takes the place of a symlink instead of following it.
func replace(dir int, name string, file agentcli.File, owner *Owner) error {
	temp := "." + name + "." + rand.Text()
	mode := cmp.Or(file.Mode.Perm(), 0o600)
	fd, err := unix.Openat2(dir, temp, &unix.OpenHow{
		Flags: unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC, Mode: uint64(mode), Resolve: noLinks,
	})
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(file.Data)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask is
	}
	if err == nil && owner != nil {
		err = f.Chown(int(owner.UID), int(owner.GID))
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = unix.Renameat(dir, temp, dir, name)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temp, 0)
	}
	return err
}

// readFile reads a regular file of the room; one that a symlink leads to from outside of it is refused, because
// the agent could put that there and its reader be allowed more.
func readFile(room agentcli.Room, path string) ([]byte, error) {
	f, err := open(room, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	if err == nil && len(data) > maxRead {
		err = &fs.PathError{Op: "read", Path: path, Err: runtime.Errorf(runtime.CodeResourceLimit, "it is larger than %d bytes", maxRead)}
	}
	return data, err
}

// readFrom reads a part of such a file, as agentcli.Room has it.
func readFrom(room agentcli.Room, path string, offset int64, limit int) (data []byte, at int64, err error) {
	f, err := open(room, path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }() // only read from
	return agentcli.ReadPart(f, offset, min(limit, maxRead))
}

func open(room agentcli.Room, path string) (*os.File, error) {
	dir, name, ok := inside(path, room.Home, room.Workdir, room.Temp)
	if !ok {
		return nil, runtime.Errorf(runtime.CodeForbidden, "%s is outside of the agent's room", path)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO would wait for its writer
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, runtime.Errorf(runtime.CodeForbidden, "%s is not a file", path)
	}
	return f, nil
}

// inside splits a path into one of the directories and what is below it.
func inside(path string, dirs ...string) (dir, name string, ok bool) {
	path = filepath.Clean(path)
	for _, dir := range dirs {
		if name, ok := strings.CutPrefix(path, dir+"/"); ok && dir != "" {
			return dir, name, true
		}
	}
	return "", "", false
}
