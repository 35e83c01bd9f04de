package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// lookLimit bounds the look for changes that are not committed, which nothing but a warning depends on.
const lookLimit = 10 * time.Second

// uncommitted returns a warning if the branch found is checked out in a repository of this machine and has changes there that are
// not committed: a workspace begins without them. It is empty also where that cannot be found out. The repository's own
// configuration is not read, so that nothing in it is run.
func (s *Service) uncommitted(ctx context.Context, rem *remote, f found) string {
	if rem.scheme != "file" {
		return ""
	}
	admin, common := adminOf(rem.path)
	if admin == "" || !checkedOut(admin, f) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	var changed, fresh int
	err := s.aside(rem.path, admin, common, f.hash, func(look call) (err error) {
		changed, fresh, err = s.loose(ctx, look, common, f.hash)
		return err
	})
	if err != nil {
		s.log.Debug("whether a repository has changes that are not committed cannot be found out", "repository", rem.url, "error", err)
		return ""
	}
	var parts []string
	if changed > 0 {
		parts = append(parts, numbers(changed, "changed file"))
	}
	if fresh > 0 {
		parts = append(parts, numbers(fresh, "file")+" that git does not know")
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is checked out in the repository with %s, not committed: the workspace begins without them; commit first what it needs",
		f.branch, strings.Join(parts, " and "))
}

// aside calls fn with a run of git that looks at the work tree of a repository which is not ours, without its configuration: git's
// directory is a copy of what is needed of it.
func (s *Service) aside(tree, admin, common, head string, fn func(look call) error) error {
	own, err := os.MkdirTemp(filepath.Join(s.opts.Root, "private"), "look-")
	if err != nil {
		return err
	}
	defer func() { _ = removeTree(own) }() // the next start removes it else
	for _, dir := range []string{"refs", "objects"} {
		if err := os.Mkdir(filepath.Join(own, dir), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(own, "HEAD"), []byte(head+"\n"), 0o600); err != nil {
		return err
	}
	if format := formatOf(head); format != "" {
		config := "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = " + format + "\n"
		if err := os.WriteFile(filepath.Join(own, "config"), []byte(config), 0o600); err != nil {
			return err
		}
	}
	// A copy: git may write what it found out about files.
	if err := copyIndex(filepath.Join(own, "index"), admin); err != nil {
		return err
	}
	return fn(call{gitDir: own, workTree: tree, most: 1 << 20, env: []string{"GIT_OBJECT_DIRECTORY=" + filepath.Join(common, "objects")}})
}

// loose counts the files in a work tree that are not as its commit has them, and those that git does not know.
func (s *Service) loose(ctx context.Context, look call, common, head string) (changed, fresh int, err error) {
	known, others := look, look
	// Modes differ between file systems; submodules are repositories of their own.
	known.args = []string{
		"-c", "core.fileMode=false", "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=all", head, "--",
	}
	others.args = []string{"ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z"}
	if info, err := os.Stat(filepath.Join(common, "info", "exclude")); err == nil && info.Mode().IsRegular() {
		others.args = append(others.args, "--exclude-from="+filepath.Join(common, "info", "exclude"))
	}
	var out, outToo []byte
	var failed, failedToo error
	var both sync.WaitGroup
	both.Go(func() { out, failed = s.git(ctx, known) })
	both.Go(func() { outToo, failedToo = s.git(ctx, others) })
	both.Wait()
	return strings.Count(string(out), "\x00"), strings.Count(string(outToo), "\x00"), firstError(failed, failedToo)
}

// adminOf returns the directory of git's files of a work tree, and that of the repository, which differ in a linked work tree.
// Both are empty where there is no work tree.
func adminOf(tree string) (admin, common string) {
	admin = filepath.Join(tree, ".git")
	if text, err := readRegular(admin, maxURL); err == nil {
		to, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir: ")
		if !ok {
			return "", ""
		}
		if admin = to; !filepath.IsAbs(to) {
			admin = filepath.Join(tree, to)
		}
	}
	if info, err := os.Stat(admin); err != nil || !info.IsDir() {
		return "", ""
	}
	common = admin
	if text, err := readRegular(filepath.Join(admin, "commondir"), maxURL); err == nil {
		if common = strings.TrimSpace(text); !filepath.IsAbs(common) {
			common = filepath.Join(admin, common)
		}
	}
	return admin, common
}

// checkedOut reports whether the work tree stands at what was found.
func checkedOut(admin string, f found) bool {
	head, err := readRegular(filepath.Join(admin, "HEAD"), maxURL)
	head = strings.TrimSpace(head)
	return err == nil && (head == f.hash || f.ref != "" && head == "ref: "+f.ref)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// numbers is a number of things in words.
func numbers(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
