package testbed

import "syscall"

// childAttributes let a child die with the rig, and keep the terminal's Ctrl-C from it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
