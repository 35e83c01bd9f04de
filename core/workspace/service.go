package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
)

var _ core.WorkspaceService = (*Service)(nil)

// Service implements core.WorkspaceService. Make it with New, start it with Open, end it with Close.
type Service struct {
	opts  Options
	log   hclog.Logger
	locks *locks        // by workspace id, and by mirror key
	slots chan struct{} // of checkouts

	ctx    context.Context // of the sweep and of every call of git; ends in Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // the sweep
	root   *os.File       // locked from Open to Close; nil where the file system has no locks

	fetches fetches

	measured string          // id of the workspace that was looked at last; of the sweep
	settled  map[string]bool // released workspaces whose size is known for good; of the sweep

	sweeping sync.Mutex   // held by a sweep
	updating sync.RWMutex // held for reading by updates of workspaces, which Close waits for

	reserving sync.Mutex // held from the count of workspaces to the transaction that adds one

	mu      sync.RWMutex // guards all below
	cfg     Config
	trees   map[string]*treeSummary // by mirror key and commit; at most maxSummaries
	gitPath string
	gitErr  error // why git cannot be used; known once Open returned
}

// New makes a service. It touches nothing.
func New(o Options) *Service {
	o.Clock = cmp.Or[core.Clock](o.Clock, core.SystemClock{})
	if o.Older == nil {
		o.Older = core.OlderBy(o.Clock)
	}
	o.IDs = cmp.Or[core.IDs](o.IDs, core.NewIDs(o.Clock))
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	s := &Service{
		opts: o, log: o.Logger, locks: newLocks(), slots: make(chan struct{}, checkouts()),
		cfg: o.Config.filled(), trees: make(map[string]*treeSummary), settled: make(map[string]bool),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// TreesDir returns the directory below the root of a service where workspaces are: what agents may be let into.
func TreesDir(root string) string { return filepath.Join(root, "trees") }

// Open makes the directories, removes what a crash left over and begins to remove what is expired. Without a usable
// git it succeeds as well: only workspaces with a repository are refused then. It fails, and touches nothing, while another
// process has the root.
func (s *Service) Open(ctx context.Context) error {
	if !filepath.IsAbs(s.opts.Root) {
		return fmt.Errorf("the directory of workspaces %q is not an absolute path", s.opts.Root)
	}
	if err := os.MkdirAll(s.opts.Root, 0o755); err != nil {
		return err
	}
	if err := s.lockRoot(); err != nil {
		return err
	}
	for _, dir := range []string{"mirrors", "trees", "notes"} {
		if err := os.MkdirAll(filepath.Join(s.opts.Root, dir), 0o755); err != nil {
			return err
		}
	}
	// The real path: git stores it, and compares it.
	root, err := filepath.EvalSymlinks(s.opts.Root)
	if err != nil {
		return err
	}
	s.opts.Root = root
	if err := s.preparePrivate(); err != nil {
		return err
	}
	if err := s.findGit(ctx); err != nil {
		s.log.Warn("workspaces with a repository are refused: git cannot be used", "error", err)
	}
	s.bringBack()
	s.clearLeftovers()
	s.recoverMoves(ctx)
	s.wg.Go(s.sweepOften)
	return nil
}

// Close ends the sweep and every git that runs, and waits until updates that it cut off are put back. Workspaces stay. Safe to
// call twice.
func (s *Service) Close() {
	s.cancel()
	s.wg.Wait()
	s.updating.Lock() // none runs any more
	defer s.updating.Unlock()
	s.closeRoot()
}

// ApplyConfig replaces the configuration. What runs goes on with the old one.
func (s *Service) ApplyConfig(c Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg = c.filled()
}

func (s *Service) config() Config {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.cfg
}

// minGit is the oldest git that has all we use: fetch --refetch came with 2.36.
var minGit = [2]int{2, 36}

// usableGit reports why git cannot be used, or nil. One that could not be used before is looked for again: it may have
// been installed since, or the machine may have been too busy to run it.
func (s *Service) usableGit(ctx context.Context) error {
	err := s.GitState()
	if err != nil {
		err = s.findGit(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return core.Unavailable("git_missing", "workspaces with a repository cannot be made: git is missing or too old on this machine").WithCause(err)
	}
	return nil
}

// findGit looks for git, and keeps what it found.
func (s *Service) findGit(ctx context.Context) error {
	err := s.tryGit(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() == nil || s.gitErr == nil { // a look that was cut off says nothing new
		s.gitErr = err
	}
	return err
}

// tryGit reports why git cannot be used, or nil.
func (s *Service) tryGit(ctx context.Context) error {
	path := s.opts.Git
	if path == "" {
		var err error
		if path, err = exec.LookPath("git"); err != nil {
			return errors.New("there is no git in PATH; install git 2.36 or newer")
		}
	}
	s.mu.Lock()
	s.gitPath = path
	s.mu.Unlock()
	out, err := s.git(ctx, call{args: []string{"version"}})
	if err != nil {
		return err
	}
	version, ok := gitVersion(string(out))
	if !ok {
		return fmt.Errorf("%s does not tell its version", path)
	}
	if version[0] < minGit[0] || version[0] == minGit[0] && version[1] < minGit[1] {
		return fmt.Errorf("git %d.%d is too old; install git %d.%d or newer", version[0], version[1], minGit[0], minGit[1])
	}
	return nil
}

// gitVersion reads "git version 2.39.5 (extra)".
func gitVersion(text string) ([2]int, bool) {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return [2]int{}, false
	}
	parts := strings.SplitN(fields[2], ".", 3)
	if len(parts) < 2 {
		return [2]int{}, false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return [2]int{major, minor}, err1 == nil && err2 == nil
}

// FindWorkspaces implements core.WorkspaceService.
func (s *Service) FindWorkspaces(ctx context.Context, filter core.WorkspaceFilter) ([]*core.Workspace, core.PageInfo, error) {
	return s.opts.Store.FindWorkspaces(ctx, filter)
}

// FindWorkspace implements core.WorkspaceService.
func (s *Service) FindWorkspace(ctx context.Context, id string) (*core.Workspace, error) {
	if !core.ValidID(core.PrefixWorkspace, id) {
		return nil, core.NotFound("workspace", id)
	}
	return s.opts.Store.FindWorkspace(ctx, id)
}

// GitEnv implements core.WorkspaceService. It is the same in all workspaces.
func (s *Service) GitEnv(string) map[string]string {
	return map[string]string{"GIT_TERMINAL_PROMPT": "0"} // there is no terminal to answer at
}

// ours returns a CONFLICT for a workspace whose files lie elsewhere than this service makes them. A copied store knows such
// ones: they are those of the original, where its agents may work.
func (s *Service) ours(w *core.Workspace) error {
	if w.Path == s.treePath(w.ID) {
		return nil
	}
	return core.Conflict("workspace", w.ID, string(w.Status),
		"workspace %q lies at %s, which is not below %s: it belongs to another threads.root", w.ID, w.Path, s.opts.Root)
}

func (s *Service) treePath(id string) string { return filepath.Join(s.opts.Root, "trees", id) }
func (s *Service) notePath(id string) string { return filepath.Join(s.opts.Root, "notes", id+".json") }

// update is doubt.Update for as long as the service is open.
func (s *Service) update(ctx context.Context, fn func(tx core.Tx) error) error {
	return doubt.Update(ctx, s.ctx, s.opts.Clock, s.opts.Store, fn, pause.For)
}

// change stores a changed copy of a workspace as the transaction sees it.
func (s *Service) change(ctx context.Context, id string, change func(w *core.Workspace) error) (*core.Workspace, error) {
	var stored *core.Workspace
	err := s.update(ctx, func(tx core.Tx) error {
		old, err := tx.FindWorkspace(id)
		if err != nil {
			return err
		}
		next := *old
		if err := change(&next); err != nil {
			return err
		}
		stored = &next
		return tx.PutWorkspace(stored)
	})
	if err != nil {
		return nil, err
	}
	return stored, nil
}
