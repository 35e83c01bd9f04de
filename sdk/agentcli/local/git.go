package local

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// FindGit returns where git keeps what belongs to a work directory, for launchers on the machine of the agent; the zero
// Git if that is not the top of a work tree. Whoever may write in the work directory could make its .git point anywhere,
// so a linked work tree counts only if its repository knows it. The folder of the reflogs, which git makes with its first
// commit, is made if the repository has none: a sandbox lets git write only where something is.
func FindGit(workdir string) agentcli.Git {
	workdir, err := filepath.EvalSymlinks(workdir)
	if err != nil {
		return agentcli.Git{}
	}
	dot := filepath.Join(workdir, ".git")
	info, err := os.Lstat(dot)
	if err != nil {
		return agentcli.Git{}
	}
	g := agentcli.Git{Dir: dot, Common: dot}
	if !info.IsDir() {
		if g, err = linkedGit(workdir, dot); err != nil {
			return agentcli.Git{}
		}
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Lstat(filepath.Join(g.Common, name)); err != nil || !info.IsDir() {
			return agentcli.Git{}
		}
	}
	if err := os.Mkdir(filepath.Join(g.Common, "logs"), 0o755); err != nil && !os.IsExist(err) {
		return agentcli.Git{} // a repository that is not ours to write
	}
	return g
}

// linkedGit follows the file that a linked work tree has for .git, and looks whether it is known where that leads.
func linkedGit(workdir, dot string) (agentcli.Git, error) {
	dir, err := pointer(dot, "gitdir: ", workdir)
	if err != nil {
		return agentcli.Git{}, err
	}
	common, err := pointer(filepath.Join(dir, "commondir"), "", dir)
	if err != nil {
		return agentcli.Git{}, err
	}
	back, err := pointer(filepath.Join(dir, "gitdir"), "", dir)
	if err != nil {
		return agentcli.Git{}, err
	}
	if back != dot || filepath.Dir(dir) != filepath.Join(common, "worktrees") {
		return agentcli.Git{}, os.ErrInvalid
	}
	return agentcli.Git{Dir: dir, Common: common}, nil
}

// pointer reads a file that names another one, relative to a directory, and returns the real path of that.
func pointer(name, prefix, dir string) (string, error) {
	const most = 8 << 10
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // a FIFO would wait for its writer
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read from
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", os.ErrInvalid
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok || path == "" || strings.ContainsAny(path, "\n\x00") {
		return "", os.ErrInvalid
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.EvalSymlinks(path)
}
