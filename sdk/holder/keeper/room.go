package keeper

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// lastWord is the file that a pod's last word is read from.
const lastWord = "/dev/termination-log"

// holdRoom is the first process of a pod, or of a container, in which holders are started: it takes in what loses its
// parent there, and ends when nothing ran for the time linger. SIGTERM goes to all that runs, and ends it. How the last command
// ended, as its holder left it in the file exit, is the pod's last word.
func holdRoom(linger time.Duration, exit string) int {
	defer func() {
		if data, err := os.ReadFile(exit); err == nil {
			_ = os.WriteFile(lastWord, data, 0o644)
		}
	}()
	terminate, child := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(terminate, unix.SIGTERM, unix.SIGINT)
	signal.Notify(child, unix.SIGCHLD)
	timer := time.NewTimer(linger)
	defer timer.Stop()
	ending := false
	for {
		for reapOne() {
		}
		running := hasChildren()
		if ending && !running {
			return 0
		}
		select {
		case <-child:
			timer.Reset(linger)
		case <-timer.C:
			if !hasChildren() { // one that lost its parent comes without a signal
				return 0
			}
			timer.Reset(linger)
		case <-terminate:
			ending = true
			signalChildren(unix.SIGTERM)
		}
	}
}

// reapOne takes in the end of one child, and reports whether there was one.
func reapOne() bool {
	pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
	return err == nil && pid > 0
}

func hasChildren() bool {
	children, err := proc.Descendants(os.Getpid())
	return err == nil && len(children) > 0
}

func signalChildren(sig unix.Signal) {
	all, err := proc.Descendants(os.Getpid())
	if err != nil {
		return
	}
	for _, one := range all {
		if one.Parent == os.Getpid() {
			_ = proc.Signal(one.ID, sig)
		}
	}
}

// look prints where a command is on the PATH of this process, and nothing if it is nowhere.
func look(name string, out io.Writer) int {
	var candidates []string
	if filepath.IsAbs(name) {
		candidates = []string{filepath.Clean(name)}
	} else if name != "" && !strings.Contains(name, "/") {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			if filepath.IsAbs(dir) { // a relative entry would mean another command in every directory
				candidates = append(candidates, filepath.Join(dir, name))
			}
		}
	}
	for _, file := range candidates {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && unix.Access(file, unix.X_OK) == nil {
			_, err := io.WriteString(out, file)
			return codeOf(err)
		}
	}
	return 0
}

// put writes the files that standard input describes; each takes the place of what is there at once.
func put(in io.Reader, out io.Writer) int {
	frames := wire.NewReader(in)
	var begun []byte // of the file that comes
	for {
		kind, body, err := frames.Next()
		if errors.Is(err, io.EOF) && begun == nil {
			return codeOf(wire.Write(out, wire.Done{Code: wire.CodeOK}))
		}
		switch {
		case err != nil:
		case kind == wire.KindFilePart:
			var part wire.FilePart
			if part, err = wire.ParseFilePart(body); err == nil && len(begun)+len(part.Data) > wire.MaxFile {
				err = unix.EFBIG
			}
			begun = append(begun, part.Data...)
		case kind == wire.KindFile:
			var file wire.File
			if file, err = wire.ParseFile(body); err == nil {
				if begun != nil {
					file.Data, begun = append(begun, file.Data...), nil
				}
				err = putFile(file)
			}
		default:
			err = errUnknown
		}
		if err != nil {
			return codeOf(wire.Write(out, wire.Done{Code: wire.CodeSystem, Text: err.Error()}))
		}
	}
}

func putFile(file wire.File) error {
	info, err := os.Lstat(file.Path)
	switch {
	case err == nil && info.IsDir():
		return &os.PathError{Op: "write", Path: file.Path, Err: unix.EISDIR}
	case err == nil && file.Keep && info.Mode().IsRegular():
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file.Path), 0o700); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(file.Path), "."+filepath.Base(file.Path)+"."+strconv.Itoa(os.Getpid()))
	mode := os.FileMode(file.Mode).Perm()
	err = os.WriteFile(temp, file.Data, mode)
	if err == nil {
		err = os.Chmod(temp, mode) // whatever the umask is
	}
	if err == nil {
		err = os.Rename(temp, file.Path)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// get prints a part of a file as wire.Part: limit bytes from an offset on, or of its last -offset bytes.
func get(path string, offset int64, limit int, out io.Writer) int {
	part, err := readPart(path, offset, limit)
	if err != nil {
		done := wire.Done{Code: wire.CodeSystem, Text: err.Error()}
		if errors.Is(err, os.ErrNotExist) {
			done.Code = wire.CodeEnded
		}
		return codeOf(wire.Write(out, done))
	}
	return codeOf(wire.Write(out, part))
}

func readPart(path string, offset int64, limit int) (part wire.Part, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO would wait for its writer
	if err != nil {
		return part, err
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	if err != nil {
		return part, err
	}
	if !info.Mode().IsRegular() {
		return part, &os.PathError{Op: "read", Path: path, Err: unix.EINVAL}
	}
	if offset < 0 {
		offset = max(0, info.Size()+offset)
	}
	part.Offset, part.Size = uint64(offset), uint64(info.Size())
	part.Data = make([]byte, max(0, min(int64(limit), info.Size()-offset, wire.MaxPayload)))
	n, err := f.ReadAt(part.Data, offset)
	part.Data = part.Data[:n]
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return part, err
}

func codeOf(err error) int {
	if err != nil {
		return 1
	}
	return 0
}
