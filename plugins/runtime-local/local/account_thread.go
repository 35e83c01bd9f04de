package local

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setThreadUser changes the user by whom the calling thread, and it alone, uses files. The functions of the standard
// library change that of all threads.
func setThreadUser(uid, gid uint32, groups []uint32) error {
	//nolint:gosec // the call takes the address of the list
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(unsafe.SliceData(groups))), 0); errno != 0 {
		return os.NewSyscallError("setgroups", errno)
	}
	if err := unix.Setfsgid(int(gid)); err != nil {
		return err
	}
	if err := unix.Setfsuid(int(uid)); err != nil {
		return err
	}
	// A service that is no root keeps its capabilities through that.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return os.NewSyscallError("capset", unix.Capset(&header, &data[0]))
}
