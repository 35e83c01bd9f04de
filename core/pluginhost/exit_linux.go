package pluginhost

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the process has ended, without reaping it: the dead leader of a group keeps its number
// from being given to somebody else. It reports whether it could.
func awaitExit(pid int) bool {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
