package keeper

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// batch is how much output is gathered before it goes into the ring. The kernel hands out some 4 KiB at a time.
const batch = 32 << 10

// terminal is the master side of a pseudo-terminal.
type terminal struct {
	file *os.File
	raw  syscall.RawConn
}

// openTerminal makes a pseudo-terminal of that size. The slave is for the command; the caller closes it.
func openTerminal(cols, rows uint16) (t *terminal, slave int, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	file := os.NewFile(uintptr(fd), "ptmx") // not blocking, so the runtime waits for it without a thread
	fail := func(err error) (*terminal, int, error) {
		_ = file.Close()
		return nil, 0, err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return fail(os.NewSyscallError("unlock the terminal", err))
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return fail(err)
	}
	t = &terminal{file: file, raw: raw}
	if err := t.resize(cols, rows); err != nil {
		return fail(err)
	}
	number, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		return fail(os.NewSyscallError("number of the terminal", err))
	}
	name := "/dev/pts/" + strconv.FormatUint(uint64(number), 10)
	slave, err = unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(&os.PathError{Op: "open", Path: name, Err: err})
	}
	return t, slave, nil
}

// read fills p with what there is, and waits only when there is nothing.
func (t *terminal) read(p []byte) (n int, err error) {
	waitErr := t.raw.Read(func(fd uintptr) bool {
		for n < len(p) {
			var got int
			got, err = unix.Read(int(fd), p[n:])
			switch {
			case got > 0:
				n += got
				continue
			case errors.Is(err, unix.EINTR):
				continue
			case errors.Is(err, unix.EAGAIN):
				err = nil
				return n > 0
			}
			return true // the end, or an error such as EIO after the last slave was closed
		}
		return true
	})
	if n > 0 {
		return n, nil
	}
	if err == nil {
		err = waitErr
	}
	if err == nil {
		err = os.ErrClosed
	}
	return 0, err
}

// write types p. It waits while the command does not read, until interrupt.
func (t *terminal) write(p []byte) (int, error) { return t.file.Write(p) }

// interrupt ends a write that waits; resume lets the next one wait again.
func (t *terminal) interrupt() { _ = t.file.SetWriteDeadline(time.Unix(1, 0)) }
func (t *terminal) resume()    { _ = t.file.SetWriteDeadline(time.Time{}) }

func (t *terminal) resize(cols, rows uint16) error {
	var failed error
	err := t.raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	})
	if err == nil {
		err = failed
	}
	return err
}

// unread returns how many bytes of input the command has not read, and 0 where the kernel does not tell.
func (t *terminal) unread() (count uint32) {
	_ = t.raw.Control(func(fd uintptr) {
		const how = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
		slave, _, failed := unix.Syscall(unix.SYS_IOCTL, fd, unix.TIOCGPTPEER, how)
		if failed != 0 {
			return
		}
		if n, err := unix.IoctlGetInt(int(slave), unix.TIOCINQ); err == nil && n > 0 {
			count = uint32(n)
		}
		_ = unix.Close(int(slave))
	})
	return count
}

func (t *terminal) close() { _ = t.file.Close() }
