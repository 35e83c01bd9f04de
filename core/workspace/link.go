package workspace

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
)

// links returns where repositories are linked into a tree: those that .gitmodules names, and those that a raw diff has.
func (t *tree) links(ctx context.Context, diff []byte) ([]string, error) {
	var names []string
	parts := splitNul(diff)
	for i, part := range parts {
		if fields := strings.Fields(part); strings.HasPrefix(part, ":") && len(fields) == 5 && fields[1] == "160000" && i+1 < len(parts) {
			names = append(names, parts[i+1])
		}
	}
	text, err := readRegular(filepath.Join(t.dir, ".gitmodules"), maxCounted)
	if err == nil {
		list := t.call(nil, "config", "--file", "-", "-z", "--list")
		list.stdin = []byte(text)
		out, err := t.m.s.git(ctx, list)
		if unanswered(err) {
			return nil, err
		}
		for name := range submoduleURLs(out) { // of a file without sense there are none
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxSubmodules)], nil
}

// lookInto reports how many files are not committed in a repository that an agent made where one is linked, and how many commits it
// has beside that which the base links: nothing here knows which of them its remote has.
func (t *tree) lookInto(ctx context.Context, dir, name string) (uncommitted, unpushed int, err error) {
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir || !filepath.IsLocal(name) {
		return 0, 0, nil //nolint:nilerr // there is none
	}
	admin, common := adminOf(dir)
	if admin == "" {
		return 0, 0, nil
	}
	head := ""
	if t.owns(admin) && t.owns(common) {
		head = headOf(admin, common)
	}
	if head == "" {
		return 1, 0, nil // it has no commit, or is elsewhere, and something made it
	}
	linked, err := t.git(ctx, nil, "rev-parse", "--verify", "--quiet", t.base+":"+name)
	if failed := ctx.Err(); failed != nil {
		return 0, 0, failed
	}
	list := []string{"rev-list", "--count", head, "--"}
	if err == nil {
		list = []string{"rev-list", "--count", head, "--not", strings.TrimSpace(string(linked)), "--"}
	}
	s := t.m.s
	looking := s.aside(dir, admin, common, head, func(look call) error {
		changed, fresh, err := s.loose(ctx, look, common, head)
		if err != nil {
			return err
		}
		look.args = list
		out, err := s.git(ctx, look)
		uncommitted, unpushed = changed+fresh, atoi(strings.TrimSpace(string(out)))
		return err
	})
	if ctx.Err() != nil {
		return 0, 0, ctx.Err()
	}
	if looking != nil { // it may hold anything
		s.log.Warn("a repository that an agent made in its workspace cannot be looked into", "path", dir, "error", looking)
		return 1, 0, nil
	}
	return uncommitted, unpushed, nil
}

// owns reports whether a directory is in the worktree, or in what git keeps of it: nothing of others reaches an agent.
func (t *tree) owns(dir string) bool { return within(t.dir, dir) || within(t.admin, dir) }

// headOf returns the commit that a work tree stands at, by git's files alone; "" for none.
func headOf(admin, common string) string {
	text, err := readRegular(filepath.Join(admin, "HEAD"), maxURL)
	head := strings.TrimSpace(text)
	ref, ok := strings.CutPrefix(head, "ref: ")
	if err == nil && ok {
		if !filepath.IsLocal(ref) {
			return ""
		}
		text, _ := readRegular(filepath.Join(common, ref), maxURL)
		if head = strings.TrimSpace(text); head == "" {
			packed, _ := readRegular(filepath.Join(common, "packed-refs"), maxIndex)
			for line := range strings.Lines(packed) {
				if hash, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
					head = hash
				}
			}
		}
	}
	if !fullHash.MatchString(head) {
		return ""
	}
	return head
}
