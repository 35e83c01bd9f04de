package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/atomicfile"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// mirror is the local bare copy of a repository, which all its workspaces share. Branches of the remote are under
// refs/remotes/origin; refs/heads holds the work branches.
type mirror struct {
	mirrorNote
	s   *Service
	key string
	dir string
}

// mirrorNote is what is noted beside a mirror.
type mirrorNote struct {
	URL    string `json:"url"`
	Depth  int    `json:"depth,omitempty"`
	Filter string `json:"filter,omitempty"`
	Format string `json:"format,omitempty"` // of objects: sha256; "": sha1
}

// formatOf is the format of the objects of a repository, by the hash of one.
func formatOf(hash string) string {
	if len(hash) == 64 {
		return "sha256"
	}
	return ""
}

// emptyTree is the hash of a tree without files, which git knows by itself.
func (n mirrorNote) emptyTree() string {
	if n.Format != "" {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}

// emptyBlob is the hash of a file without content, which git knows as well.
func (n mirrorNote) emptyBlob() string {
	if n.Format != "" {
		return "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
	}
	return "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
}

func (s *Service) mirrorOf(note mirrorNote) *mirror {
	text := fmt.Appendf(nil, "%s\x00%d\x00%s", note.URL, note.Depth, note.Filter)
	if note.Format != "" {
		text = fmt.Appendf(text, "\x00%s", note.Format)
	}
	sum := sha256.Sum256(text)
	key := hex.EncodeToString(sum[:12])
	return &mirror{mirrorNote: note, s: s, key: key, dir: filepath.Join(s.opts.Root, "mirrors", key)}
}

func (s *Service) mirrorOfWorkspace(w *core.Workspace) *mirror {
	return s.mirrorOf(mirrorNote{URL: w.URL, Depth: w.Depth, Filter: w.Filter, Format: formatOf(w.BaseCommit)})
}

// git runs git in the mirror.
func (m *mirror) git(ctx context.Context, rem *remote, args ...string) ([]byte, error) {
	return m.s.git(ctx, call{args: args, gitDir: m.dir, remote: rem})
}

// config is the configuration of the mirror, byte for byte. Nothing is ever collected or pruned by git itself: agents'
// git would do it while others work, and objects that only an index or a detached HEAD knows would be at risk.
func (m *mirror) config() []byte {
	var b strings.Builder
	version := 0
	if m.Filter != "" || m.Format != "" {
		version = 1
	}
	fmt.Fprintf(&b, "[core]\n\trepositoryformatversion = %d\n\tfilemode = true\n\tbare = true\n\tlogallrefupdates = true\n\thooksPath = /dev/null\n", version)
	if version > 0 {
		b.WriteString("[extensions]\n")
	}
	if m.Filter != "" {
		b.WriteString("\tpartialClone = origin\n")
	}
	if m.Format != "" {
		fmt.Fprintf(&b, "\tobjectFormat = %s\n", m.Format)
	}
	b.WriteString("[gc]\n\tauto = 0\n\tpruneExpire = never\n\tworktreePruneExpire = never\n\treflogExpire = never\n\treflogExpireUnreachable = never\n")
	b.WriteString("[maintenance]\n\tauto = false\n[push]\n\tdefault = current\n")
	fmt.Fprintf(&b, "[remote \"origin\"]\n\turl = \"%s\"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", configText(m.URL))
	if m.Filter != "" {
		fmt.Fprintf(&b, "\tpromisor = true\n\tpartialclonefilter = \"%s\"\n", configText(m.Filter))
	}
	// Of the agents' own git. An environment would say it as well, but the values of one count as secrets.
	who := m.s.config().Identity
	fmt.Fprintf(&b, "%s\n\tname = \"%s\"\n\temail = \"%s\"\n", userSection, configText(who.Name), configText(who.Email))
	return []byte(b.String())
}

// userSection begins the last part of a mirror's configuration.
const userSection = "[user]"

// configText quotes a text for a git configuration.
func configText(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(plain(text, maxURL))
}

// otherUser reports whether a configuration differs from ours in its last part only: the identity was configured anew, or
// the mirror is of a version that wrote none.
func (m *mirror) otherUser(config string) bool {
	base, _, _ := strings.Cut(string(m.config()), userSection)
	have, user, _ := strings.Cut(config, userSection)
	return have == base && strings.Count(user, "\n") <= 3
}

// excludeBefore is what earlier versions wrote for exclude.
const excludeBefore = "/.wardroom/\n"

// exclude keeps the context files out of every worktree's status, and what a crash leaves that are being written: git reads
// info/exclude of the common directory. An id has 26 characters.
var exclude = excludeBefore + halfContext + strings.Repeat("[0-9A-Z]", 26) + "\n"

// secure makes sure that nothing in the mirror leads git astray: its configuration is what we wrote, and what we never
// write is not there. It mends what was damaged as well.
func (m *mirror) secure() error {
	for _, dir := range []string{"info", "objects/info", "objects/pack", "refs/heads", "refs/tags", "worktrees"} {
		path := filepath.Join(m.dir, dir)
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			continue
		}
		_ = os.Remove(path) // a file or a link in its place
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	}
	for name, want := range map[string][]byte{
		"HEAD": []byte("ref: refs/heads/main\n"), "config": m.config(), "info/exclude": []byte(exclude),
	} {
		path := filepath.Join(m.dir, name)
		old, _ := readRegular(path, int64(len(want))+maxURL) // what is not there was not ours either
		changed, err := keep(path, want, 0o644)
		if err != nil {
			return err
		}
		if changed && !(name == "config" && m.otherUser(old)) && !(name == "info/exclude" && old == excludeBefore) {
			m.s.log.Warn("a file of a mirror was changed by somebody; it was put back", "mirror", m.URL, "file", name)
		}
	}
	for _, name := range []string{"info/attributes", "info/grafts", "commondir", "config.worktree", "objects/info/alternates"} {
		path := filepath.Join(m.dir, name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		m.s.log.Warn("a file of a mirror was added by somebody; it was removed", "mirror", m.URL, "file", name)
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// create writes an empty mirror by hand: git init would copy templates.
func (m *mirror) create() error {
	for _, dir := range []string{"info", "objects/info", "objects/pack", "refs/heads", "refs/tags", "worktrees"} {
		if err := os.MkdirAll(filepath.Join(m.dir, dir), 0o755); err != nil {
			return err
		}
	}
	for name, content := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "config": string(m.config()), "info/exclude": exclude,
	} {
		if err := atomicfile.Write(filepath.Join(m.dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (m *mirror) exists() bool {
	info, err := os.Lstat(m.dir)
	return err == nil && info.IsDir()
}

// has reports whether the mirror holds a commit.
func (m *mirror) has(ctx context.Context, hash string) (bool, error) {
	_, err := m.git(ctx, nil, "cat-file", "-e", hash+"^{commit}")
	if unanswered(err) {
		return false, err
	}
	return err == nil, nil
}

// want is a commit that a mirror should have, and the ref that it was found under; "" for a commit by its hash.
type want struct {
	hash string
	ref  string
}

// ensure makes the mirror hold a commit. A warm one costs one look; else it is fetched, by one caller at a time. The
// errors are those of git.
func (m *mirror) ensure(ctx context.Context, rem *remote, w want) error {
	if m.exists() {
		if err := m.secure(); err != nil {
			return err
		}
		if ok, err := m.has(ctx, w.hash); ok || err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, m.s.config().FetchTimeout)
	defer cancel()
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if !m.exists() {
		return m.clone(ctx, rem, w)
	}
	if err := m.secure(); err != nil {
		return err
	}
	if ok, err := m.has(ctx, w.hash); ok || err != nil {
		return err // somebody fetched it while we waited
	}
	err = m.fetch(ctx, rem, w, false)
	switch failureOf(err) {
	case failLocked:
		if m.removeStaleLocks() > 0 {
			err = m.fetch(ctx, rem, w, false)
		}
	case failBroken:
		err = m.repair(ctx, rem, w)
	}
	if err == nil {
		return nil
	}
	// git takes in what came before it moves any ref, one of which an agent's git may have just now.
	if ok, looking := m.has(ctx, w.hash); ok && looking == nil {
		m.s.log.Warn("a fetch of a mirror failed that brought what was asked for", "mirror", m.URL, "error", err)
		return nil
	}
	return err
}

// clone makes the mirror under another name and moves it into place once it is complete: a crash leaves no half one.
func (m *mirror) clone(ctx context.Context, rem *remote, w want) error {
	fresh := *m
	fresh.dir = m.dir + m.s.attempt(".new-")
	defer func() { _ = removeTree(fresh.dir) }() // what a failure left; after success it is not there
	if err := fresh.create(); err != nil {
		return err
	}
	if err := fresh.fetch(ctx, rem, w, false); err != nil {
		return err
	}
	note, err := json.Marshal(m.mirrorNote)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(m.dir+".json", note, 0o644); err != nil {
		return err
	}
	return os.Rename(fresh.dir, m.dir)
}

// fetch gets all branches, of a shallow mirror only the wanted one, and makes sure that the wanted commit came.
func (m *mirror) fetch(ctx context.Context, rem *remote, w want, again bool) (err error) {
	defer func() { m.s.fetches.count(err) }()
	args := []string{"fetch", "--quiet", "--force", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"}
	if m.Filter != "" {
		args = append(args, "--filter="+m.Filter)
	}
	if again {
		args = append(args, "--refetch")
	}
	one := w.hash
	if w.ref != "" {
		one = "+" + w.ref + ":" + tracking(w.ref)
	}
	if m.Depth > 0 {
		if err := m.gitFetch(ctx, rem, append(args, fmt.Sprintf("--depth=%d", m.Depth), "--no-tags", "--", "origin", one)...); err != nil {
			return err
		}
	} else if err := m.gitFetch(ctx, rem, append(args, "--prune", "--", "origin", "+refs/heads/*:refs/remotes/origin/*")...); err != nil {
		return err
	}
	for _, spec := range []string{one, w.hash} {
		if ok, err := m.has(ctx, w.hash); ok || err != nil {
			return err
		}
		if err := m.gitFetch(ctx, rem, append(args, "--no-tags", "--", "origin", spec)...); err != nil {
			return err
		}
	}
	ok, err := m.has(ctx, w.hash)
	if !ok && err == nil {
		err = &gitError{op: "fetch", kind: failBranch, tail: "the commit " + w.hash + " did not come", err: errors.New("commit missing")}
	}
	return err
}

// fetchTries is how often a fetch is made that meets worktrees which are just being made: each of them is so for a moment.
const fetchTries = 5

// gitFetch runs git fetch, which looks at all worktrees of the mirror.
func (m *mirror) gitFetch(ctx context.Context, rem *remote, args ...string) error {
	for try := 1; ; try++ {
		_, err := m.git(ctx, rem, args...)
		if failureOf(err) != failHalfMade || try == fetchTries {
			return err
		}
	}
}

// tracking is the local ref of one of the remote.
func tracking(ref string) string {
	if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		return "refs/remotes/origin/" + branch
	}
	return ref
}

// lock takes the mirror for a fetch: among our goroutines, and among processes.
func (m *mirror) lock(ctx context.Context) (func(), error) {
	unlock, err := m.s.locks.lock(ctx, "mirror "+m.key)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(m.dir+".lock", os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		unlock()
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close(); unlock() }, nil // closing frees the lock
		}
		if !pause.For(ctx, core.SystemClock{}, lockPoll) { // real time: another process has it
			_ = f.Close() // nothing was written
			unlock()
			return nil, ctx.Err()
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close() // nothing was written
			unlock()
			return nil, err
		}
	}
}

// inUse reports whether worktrees hang on the mirror.
func (m *mirror) inUse() bool {
	entries, err := os.ReadDir(filepath.Join(m.dir, "worktrees"))
	return err == nil && len(entries) > 0
}

// attempt is a name that nothing has yet.
func (s *Service) attempt(prefix string) string { return s.opts.IDs.New(prefix) }
