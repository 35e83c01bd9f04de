package appliance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/core"
)

// checkStoreDir warns of a directory of the store whose files others can read, or in which they can put files of theirs in the place
// of ours. CONFLICT for the latter when the store holds keys: who can swap what they are checked against can do everything.
func (a *App) checkStoreDir(ctx context.Context, dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at store.path: %w", err)
	}
	flaw := ""
	owner, known := ownerOf(info)
	switch {
	case info.Mode().Perm()&0o002 != 0:
		flaw = fmt.Sprintf("everyone may write in it (mode %04o): chmod o-w, or name a directory below it", info.Mode().Perm())
	case known && owner != 0 && owner != os.Geteuid():
		flaw = fmt.Sprintf("it belongs to user id %d, and not to that of the server (%d): chown, or name a directory below it", owner, os.Geteuid())
	default:
		if file := readable(dir, info); file != "" {
			a.log.Warn("others on this machine can read what is stored", "file", file, "hint", "as the owner of the directory: chmod o= "+dir)
		}
		return nil
	}
	needed, err := pepperNeeded(ctx, a.store, a.clock.Now())
	if err != nil {
		return err
	}
	if needed != "" {
		return core.Errorf(core.CodeConflict, "store.path %s holds keys, such as %s, but %s", dir, needed, flaw)
	}
	a.log.Warn("store.path is not safe from others on this machine", "path", dir, "why", flaw)
	return nil
}

// readable returns a file of the database that every user can read, or nothing. The umask of the process decides about that, unless
// the directory keeps them out.
func readable(dir string, info os.FileInfo) string {
	if info.Mode().Perm()&0o001 == 0 {
		return ""
	}
	entries, _ := os.ReadDir(dir) // of which the store lives: it reports what it cannot read
	for _, entry := range entries {
		if ext := filepath.Ext(entry.Name()); ext != ".vlog" && ext != ".sst" {
			continue
		}
		if info, err := entry.Info(); err == nil && info.Mode().Perm()&0o004 != 0 {
			return filepath.Join(dir, entry.Name())
		}
	}
	return ""
}
