package testbed

import "syscall"

// childAttributes keep the terminal's Ctrl-C from a child, and let it die with the rig unless it outlives it.
func childAttributes(outlives bool) *syscall.SysProcAttr {
	if outlives {
		return &syscall.SysProcAttr{Setpgid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
