package confine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// dropped are the capabilities that lead around a domain of Landlock, or around the rights of files, and that no tool
// of an agent needs: they count only where the command runs as root.
var dropped = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_PTRACE, unix.CAP_SYS_BOOT, unix.CAP_SYSLOG,
	unix.CAP_MKNOD, unix.CAP_DAC_READ_SEARCH, unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_CHECKPOINT_RESTORE,
	unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE,
}

// Enter puts the calling thread under the rules, with no way back, and so whatever it starts from then on. The caller
// holds the thread by runtime.LockOSThread, and lets it end afterwards.
func Enter(r Rules) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("no_new_privs", err)
	}
	// A service that is no root may have capabilities for itself that its children would inherit.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return os.NewSyscallError("ambient capabilities", err)
	}
	if !r.Landlock {
		return nil
	}
	if err := restrict(r); err != nil {
		return err
	}
	for _, capability := range dropped {
		switch has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, capability, 0, 0, 0); {
		case err != nil || has == 0: // unknown to this kernel, or gone
		default:
			// Whoever may not drop it has no capabilities that a command of his could get back.
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
				return fmt.Errorf("drop capability %d: %w", capability, err)
			}
		}
	}
	return nil
}
