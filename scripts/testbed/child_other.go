//go:build !linux

package testbed

import "syscall"

// childAttributes keep the terminal's Ctrl-C from a child; the rig ends its children itself.
func childAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
