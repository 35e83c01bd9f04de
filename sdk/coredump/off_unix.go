//go:build unix

package coredump

import "golang.org/x/sys/unix"

// Limit is the largest core dump of this process, in bytes. With 0 there is no file either, but Linux still hands the
// dump to a program that collects them, if one is set; with 1 it does neither.
const Limit = 1

// Off sees to it that this process and those that it starts leave no core dumps. A process may allow them for itself again, as
// the command of an agent may for what it debugs.
func Off() error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &l); err != nil {
		return err
	}
	l.Cur = min(Limit, l.Max)
	return unix.Setrlimit(unix.RLIMIT_CORE, &l)
}
