package appliance

import (
	"context"
	"fmt"
	"os"

	"github.com/wardroom/wardroom/core"
)

// checkStoreDir warns of a directory of the store in which others can put files of theirs in the place of ours. CONFLICT when
// the store holds keys: whoever can swap what they are checked against can do everything.
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
