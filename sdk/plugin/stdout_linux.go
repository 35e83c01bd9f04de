package plugin

import (
	"os"

	"golang.org/x/sys/unix"
)

// captureStdout exchanges standard output. It returns nil if the system refuses, and then printing is as
// dangerous as it is without us.
func captureStdout() *capture {
	out, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		_ = unix.Close(out)
		return nil
	}
	// Only the end that is read may be non-blocking: the other is standard output, which os treats as blocking.
	err = unix.SetNonblock(ends[0], true)
	if err == nil {
		err = unix.Dup3(ends[1], 1, 0)
	}
	_ = unix.Close(ends[1])
	if err != nil {
		_ = unix.Close(ends[0])
		_ = unix.Close(out)
		return nil
	}
	return &capture{
		out: os.NewFile(uintptr(out), "handshake"), prints: os.NewFile(uintptr(ends[0]), "prints"),
		stdout: os.Stdout, stderr: os.Stderr,
	}
}
