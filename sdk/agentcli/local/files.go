package local

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// maxRead bounds a file that Room.ReadFile returns, in bytes.
const maxRead = 64 << 20

// Write writes what an adapter wants in the room before the command starts: inside its home and work directory,
// and nowhere else, whatever symlinks the agent has put there. SPAWN_FAILED names the file.
func Write(room agentcli.Room, files []agentcli.File) error {
	for _, file := range files {
		dir, name, ok := inside(file.Path, room.Home, room.Workdir)
		if !ok {
			return runtime.Errorf(runtime.CodeSpawnFailed, "the file %s is outside of the agent's room", file.Path)
		}
		if err := write(dir, name, file); err != nil {
			return runtime.Errorf(runtime.CodeSpawnFailed, "write %s: %v", file.Path, err)
		}
	}
	return nil
}

func write(dir, name string, file agentcli.File) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Lstat(name); err == nil {
		if info.IsDir() {
			return errors.New("a directory is in its place")
		}
		if file.Keep && info.Mode().IsRegular() {
			return nil
		}
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	mode := file.Mode.Perm()
	if mode == 0 {
		mode = 0o600
	}
	// Written beside it and renamed: a reader never sees half of it, and a symlink in its place is replaced.
	temp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text())
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(file.Data)
	err = errors.Join(err, f.Chmod(mode), f.Close()) // whatever the umask is
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
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
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would wait for its writer
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
