package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/core"
)

// Bounds of the files that a preparation writes.
const (
	maxContextFiles = 64
	maxContextFile  = 1 << 20 // bytes
	maxContextTotal = 4 << 20
	maxContextPath  = 512
	maxContextDepth = 16
)

// CheckContext implements core.WorkspaceService.
func (s *Service) CheckContext(files []core.ContextFile) error {
	const at = "preparation.contextFiles"
	if len(files) > maxContextFiles {
		return core.Invalid(at, "holds %d files, and may hold %d; put the rest into one of them", len(files), maxContextFiles)
	}
	total := 0
	seen := make(map[string]int)
	for i, file := range files {
		field := fmt.Sprintf("%s[%d].path", at, i)
		if err := checkContextPath(file.Path); err != nil {
			return core.Invalid(field, "%v", err)
		}
		if first, ok := seen[file.Path]; ok {
			return core.Invalid(field, "is that of file %d as well; leave one out", first)
		}
		seen[file.Path] = i
		if len(file.Content) > maxContextFile {
			return core.Invalid(fmt.Sprintf("%s[%d].content", at, i), "is %d bytes long, and may be %d", len(file.Content), maxContextFile)
		}
		total += len(file.Content)
	}
	if total > maxContextTotal {
		return core.Invalid(at, "is %d bytes long in all, and may be %d", total, maxContextTotal)
	}
	for name := range seen {
		for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
			if at, ok := seen[name[:i]]; ok {
				return core.Invalid(fmt.Sprintf("preparation.contextFiles[%d].path", at), "is a directory for another file; choose another name")
			}
		}
	}
	return nil
}

// checkContextPath wants a relative path with slashes that stays in the workspace and touches nothing of git's.
func checkContextPath(name string) error {
	switch {
	case name == "":
		return errors.New("is empty; name the file relative to the workspace")
	case len(name) > maxContextPath:
		return fmt.Errorf("is longer than %d bytes", maxContextPath)
	case !utf8.ValidString(name), strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("holds a control character or broken UTF-8")
	case strings.Contains(name, `\`):
		return errors.New(`holds a \; separate directories with /`)
	case strings.HasPrefix(name, "/"):
		return errors.New("is absolute; name the file relative to the workspace")
	}
	parts := strings.Split(name, "/")
	if len(parts) > maxContextDepth {
		return fmt.Errorf("has more than %d directories", maxContextDepth-1)
	}
	for _, part := range parts {
		switch {
		case part == "" || part == ".":
			return errors.New("has an empty part; write it without // and ./")
		case part == "..":
			return errors.New("leaves the workspace; write it without \"..\" parts")
		case len(part) > maxNameBytes:
			return fmt.Errorf("has a part longer than %d bytes", maxNameBytes)
		case isDotGit(part):
			return errors.New("is git's own; context files cannot be there")
		}
	}
	return nil
}

// isDotGit reports whether a file system could take a name for .git: by case, by dots and blanks at its end, by a short
// name, by characters that are not seen, by a stream.
func isDotGit(part string) bool {
	visible := strings.Map(func(r rune) rune {
		if r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, part)
	name, _, _ := strings.Cut(strings.ToLower(visible), ":")
	name = strings.TrimRight(name, ". ")
	return name == ".git" || name == "git~1"
}

// WriteContext implements core.WorkspaceService.
func (s *Service) WriteContext(ctx context.Context, id, threadID string, files []core.ContextFile) error {
	if err := s.CheckContext(files); err != nil {
		return err
	}
	unlock, err := s.locks.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	w, err := s.FindWorkspace(ctx, id)
	if err != nil {
		return err
	}
	if w.Status != core.WorkspaceReady {
		return core.Conflict("workspace", id, string(w.Status), "workspace %q is %s; files are written into ready ones", id, w.Status)
	}
	if w.ThreadID != threadID {
		return taken(w)
	}
	if w.Repo != "" {
		// .wardroom is excluded by a file of the mirror.
		if err := s.mirrorOfWorkspace(w).secure(); err != nil {
			return explain(err, nil, "")
		}
	}
	root, err := unix.Open(s.treePath(id), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return explain(err, nil, "")
	}
	defer func() { _ = unix.Close(root) }() // only a place to begin at
	for i, file := range files {
		err := s.writeInside(root, file)
		switch {
		case err == nil:
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, errNotRegular), errors.Is(err, unix.EMLINK):
			return core.Invalid(fmt.Sprintf("preparation.contextFiles[%d].path", i),
				"%s is behind a symbolic link, or is no regular file, in the workspace; choose another path", file.Path).WithCause(err)
		default:
			return explain(fmt.Errorf("%s: %w", file.Path, err), nil, "")
		}
	}
	return nil
}

// halfContext begins the name of a context file until it is complete.
const halfContext = ".wardroom-"

var errNotRegular = errors.New("there is something that is no regular file")

// writeInside writes a file below an open directory. It goes down one component after the other, each opened relative to
// the one before and never through a link, so that nothing that an agent moves about meanwhile leads it elsewhere.
func (s *Service) writeInside(root int, file core.ContextFile) error {
	parts := strings.Split(file.Path, "/")
	dir, err := unix.Dup(root)
	if err != nil {
		return err
	}
	unix.CloseOnExec(dir)
	defer func() { _ = unix.Close(dir) }() // only passed through
	for _, part := range parts[:len(parts)-1] {
		if err := unix.Mkdirat(dir, part, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		next, err := unix.Openat(dir, part, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_ = unix.Close(dir) // only passed through
		dir = next
	}
	name := parts[len(parts)-1]
	var old unix.Stat_t
	if err := unix.Fstatat(dir, name, &old, unix.AT_SYMLINK_NOFOLLOW); err == nil && old.Mode&unix.S_IFMT != unix.S_IFREG {
		return errNotRegular
	}
	// A new file in place of the old one, which may have other names elsewhere.
	temporary := s.attempt(halfContext)
	fd, err := unix.Openat(dir, temporary, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	err = writeAll(fd, []byte(file.Content))
	if closing := unix.Close(fd); err == nil {
		err = closing
	}
	if err == nil {
		err = unix.Renameat(dir, temporary, dir, name)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temporary, 0) // what remains of the failure
	}
	return err
}

func writeAll(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
