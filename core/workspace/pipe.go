package workspace

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// freeAfter is how long a git has run in a worktree when it is looked at what it may wait for.
const freeAfter = 500 * time.Millisecond

// freePipes ends the wait of a git for pipes that stand in a worktree where it reads its rules from: an agent may have made them,
// and git would wait for a writer. They read as empty then. It returns once ctx ends.
func (s *Service) freePipes(ctx context.Context, dir string) {
	if !pause.For(ctx, core.SystemClock{}, freeAfter) {
		return
	}
	var pipes []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil //nolint:nilerr // files come and go while they are looked at
		case d.Type() == fs.ModeNamedPipe && (d.Name() == ".gitignore" || d.Name() == ".gitattributes"):
			pipes = append(pipes, path)
		}
		return nil
	})
	if len(pipes) == 0 {
		return
	}
	s.log.Warn("pipes stand in a worktree where git reads rules; they count as empty", "worktree", dir, "files", listed(pipes))
	for pause.For(ctx, core.SystemClock{}, lockPoll) { // real time: git is another process
		for _, path := range pipes {
			f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
			if err == nil { // there is a reader
				_ = f.Close()
			}
		}
	}
}
