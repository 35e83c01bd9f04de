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
	own, err := os.MkdirTemp(filepath.Join(s.opts.Root, "private"), "look-")
	if err != nil {
		return ""
	}
	defer func() { _ = removeTree(own) }() // the next start removes it else
	for _, dir := range []string{"refs", "objects"} {
		if os.Mkdir(filepath.Join(own, dir), 0o700) != nil {
			return ""
		}
	}
	if os.WriteFile(filepath.Join(own, "HEAD"), []byte(f.hash+"\n"), 0o600) != nil {
		return ""
	}
	// A copy: git may write what it found out about files.
	if copyIndex(filepath.Join(own, "index"), admin) != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	look := call{gitDir: own, workTree: rem.path, most: 1 << 20, env: []string{"GIT_OBJECT_DIRECTORY=" + filepath.Join(common, "objects")}}
	known, others := look, look
	// Modes differ between file systems; submodules are repositories of their own.
	known.args = []string{
		"-c", "core.fileMode=false", "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=all", f.hash, "--",
	}
	others.args = []string{"ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z"}
	if _, err := os.Stat(filepath.Join(common, "info", "exclude")); err == nil {
		others.args = append(others.args, "--exclude-from="+filepath.Join(common, "info", "exclude"))
	}
	var changed, fresh []byte
	var failed, failedToo error
	var both sync.WaitGroup
	both.Go(func() { changed, failed = s.git(ctx, known) })
	both.Go(func() { fresh, failedToo = s.git(ctx, others) })
	both.Wait()
	if failed != nil || failedToo != nil {
		s.log.Debug("whether a repository has changes that are not committed cannot be found out", "repository", rem.url, "error", firstError(failed, failedToo))
		return ""
	}
	var parts []string
	if n := strings.Count(string(changed), "\x00"); n > 0 {
		parts = append(parts, numbers(n, "changed file"))
	}
	if n := strings.Count(string(fresh), "\x00"); n > 0 {
		parts = append(parts, numbers(n, "file")+" that git does not know")
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is checked out in the repository with %s, not committed: the workspace begins without them; commit first what it needs",
		f.branch, strings.Join(parts, " and "))
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
