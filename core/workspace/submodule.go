package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/atomicfile"
)

const (
	maxSubmodules     = 100 // of one workspace, those of submodules included
	maxSubmoduleDepth = 5
)

// submoduleNote is what is noted of a submodule, to find it again.
type submoduleNote struct {
	Path   string `json:"path"` // below the workspace
	Mirror mirrorNote
	Admin  string `json:"admin"` // name below worktrees of the mirror
	Base   string `json:"base"`
}

// addSubmodules checks the submodules of a tree out, each as a worktree of a mirror of its own, with the same rules as
// for any repository. git submodule itself would run in directories that it finds by what the repository says.
func (s *Service) addSubmodules(ctx context.Context, w *core.Workspace, t *tree, rem *remote, sum *treeSummary) ([]*tree, error) {
	g := &grafting{s: s, w: w, root: t}
	if err := g.add(ctx, t, rem, sum, "", 1); err != nil {
		return g.parts, err
	}
	text, err := json.Marshal(g.notes)
	if err != nil {
		return g.parts, err
	}
	return g.parts, atomicfile.Write(s.notePath(w.ID), text, 0o644)
}

// grafting is the work of adding all submodules of a workspace.
type grafting struct {
	s     *Service
	w     *core.Workspace
	root  *tree
	parts []*tree
	notes []submoduleNote
}

// add adds the submodules of one tree, which lies at below in the workspace, and theirs.
func (g *grafting) add(ctx context.Context, t *tree, rem *remote, sum *treeSummary, below string, depth int) error {
	if len(sum.submodules) == 0 {
		return nil
	}
	if depth > maxSubmoduleDepth {
		return core.Invalid("preparation.workspace.submodules", "submodules are nested deeper than %d levels; leave them out", maxSubmoduleDepth)
	}
	out, err := t.m.git(ctx, nil, "config", "--blob", t.base+":.gitmodules", "-z", "--list")
	if err != nil {
		var failed *gitError
		if !errors.As(err, &failed) {
			return err
		}
		out = nil // there is no such file, or no sense in it: the links below say so
	}
	urls := submoduleURLs(out)
	for _, link := range sum.submodules {
		at := path.Join(below, link.path)
		target, ok := urls[link.path]
		if !ok {
			g.w.Warnings = append(g.w.Warnings, fmt.Sprintf("the submodule %s was left out: .gitmodules does not tell its URL", at))
			continue
		}
		if len(g.parts) >= maxSubmodules {
			return core.Invalid("preparation.workspace.submodules", "there are more than %d submodules; leave them out", maxSubmodules)
		}
		if err := g.addOne(ctx, t, rem, link, target, at, depth); err != nil {
			return err
		}
	}
	return nil
}

func (g *grafting) addOne(ctx context.Context, t *tree, rem *remote, link gitlink, target, at string, depth int) error {
	absolute, err := joinURL(rem.url, target)
	if err != nil {
		return core.Invalid("preparation.workspace.submodules", "the URL of the submodule %s %v", at, err)
	}
	parsed, err := parseURL(absolute)
	if err == nil && parsed.scheme == "file" && rem.scheme != "file" {
		err = errors.New("is a directory of this machine, which a repository elsewhere cannot ask for")
	}
	if err != nil {
		return core.Invalid("preparation.workspace.submodules", "the URL of the submodule %s %v", at, err)
	}
	sub, err := g.s.resolve(absolute)
	if err != nil {
		e := core.AsError(err)
		return core.Invalid("preparation.workspace.submodules", "the URL of the submodule %s %v", at, e.Details["reason"])
	}
	// The parent's branch and depth say nothing about it: the link names a commit.
	m := g.s.mirrorOf(mirrorNote{URL: sub.url, Format: formatOf(link.hash)})
	if err := m.ensure(ctx, sub, want{hash: link.hash}); err != nil {
		return explain(err, sub, link.hash)
	}
	sum, err := m.summary(ctx, link.hash)
	if err != nil {
		return err
	}
	final := fmt.Sprintf("%s.s%d", g.w.ID, len(g.parts)+1)
	// What an earlier try left over.
	if err := (&tree{m: m, admin: m.admin(final)}).discard(); err != nil {
		return err
	}
	part := &tree{m: m, dir: filepath.Join(t.dir, filepath.FromSlash(link.path)), admin: m.admin(final + g.s.attempt(".new-")), base: link.hash}
	g.parts = append(g.parts, part)
	place := filepath.Join(g.s.treePath(g.w.ID), filepath.FromSlash(at))
	// git made an empty directory for the link; it cannot be a link to elsewhere, because git checked it out.
	if err := part.add(link.hash, place); err != nil {
		return err
	}
	if err := part.checkout(ctx, sub, link.hash, sum); err != nil {
		return err
	}
	g.w.Warnings = append(g.w.Warnings, sum.warnings...)
	if part.usesLFS(sum) {
		g.w.Warnings = append(g.w.Warnings, fmt.Sprintf("the submodule %s uses git LFS: its large files are pointers here", at))
	}
	if err := part.place(part.dir, m.admin(final)); err != nil {
		return err
	}
	g.notes = append(g.notes, submoduleNote{Path: at, Mirror: m.mirrorNote, Admin: final, Base: link.hash})
	return g.add(ctx, part, sub, sum, at, depth+1)
}

// submoduleURLs reads git config -z --list of a .gitmodules: URL by path.
func submoduleURLs(out []byte) map[string]string {
	type section struct{ path, url string }
	sections := make(map[string]section)
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, ok := strings.Cut(entry, "\n")
		rest, isSubmodule := strings.CutPrefix(key, "submodule.")
		dot := strings.LastIndexByte(rest, '.')
		if !ok || !isSubmodule || dot < 0 {
			continue
		}
		sec := sections[rest[:dot]]
		switch rest[dot+1:] {
		case "path":
			sec.path = value
		case "url":
			sec.url = value
		}
		sections[rest[:dot]] = sec
	}
	urls := make(map[string]string)
	for _, sec := range sections {
		if sec.path != "" && sec.url != "" {
			urls[sec.path] = sec.url
		}
	}
	return urls
}

// joinURL makes the URL of a submodule absolute: one that begins with ./ or ../ is relative to the repository's.
func joinURL(base, target string) (string, error) {
	if !strings.HasPrefix(target, "./") && !strings.HasPrefix(target, "../") {
		return target, nil
	}
	prefix, file := "", ""
	if host, p, ok := strings.Cut(base, "://"); ok {
		i := strings.IndexByte(p, '/')
		if i < 0 {
			return "", errors.New("is relative to a URL without a path")
		}
		prefix, file = host+"://"+p[:i], p[i:]
	} else {
		host, p, _ := strings.Cut(base, ":")
		prefix, file = host+":", p
	}
	parts := strings.Split(strings.Trim(file, "/"), "/")
	for {
		if rest, ok := strings.CutPrefix(target, "../"); ok {
			if len(parts) == 0 {
				return "", errors.New("climbs above the root of the host")
			}
			parts, target = parts[:len(parts)-1], rest
		} else if rest, ok := strings.CutPrefix(target, "./"); ok {
			target = rest
		} else {
			break
		}
	}
	joined := strings.Join(append(parts, target), "/")
	if strings.HasPrefix(file, "/") {
		joined = "/" + joined
	}
	if _, err := url.PathUnescape(joined); err != nil {
		return "", errors.New("is not a URL")
	}
	return prefix + joined, nil
}

// submodules returns the trees of the submodules of a workspace.
func (s *Service) submodules(id string) []*tree {
	text, err := os.ReadFile(s.notePath(id))
	if err != nil {
		return nil
	}
	var notes []submoduleNote
	if json.Unmarshal(text, &notes) != nil {
		return nil
	}
	var parts []*tree
	for _, note := range notes {
		if note.Path == "" || climbs(note.Path) || path.IsAbs(note.Path) || !strings.HasPrefix(note.Admin, id+".s") || strings.Contains(note.Admin, "/") {
			continue // not what we wrote
		}
		m := s.mirrorOf(note.Mirror)
		parts = append(parts, &tree{m: m, dir: filepath.Join(s.treePath(id), filepath.FromSlash(note.Path)), admin: m.admin(note.Admin), base: note.Base})
	}
	return parts
}
