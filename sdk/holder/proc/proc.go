package proc

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Tick is the unit of processor times and start times in /proc; Linux fixed it for programs at 1/100 s.
const Tick = 10 * time.Millisecond

// ID is a process that cannot be taken for a later one with the same pid, as long as the machine runs.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // ticks since the boot
}

// Info is what /proc/PID/stat tells.
type Info struct {
	ID
	Parent      int
	State       byte          // Z is a zombie
	Group       int           // of processes
	Foreground  int           // group in the foreground of its terminal; -1: it has no terminal
	CPU         time.Duration // its own, user and system
	ReapedCPU   time.Duration // of its children that were waited for
	MemoryPages int64         // resident
	Kernel      bool          // a thread of the kernel
}

// ErrGone is returned for a process that is not there any more.
var ErrGone = errors.New("no such process")

var errStat = errors.New("stat of a process cannot be read")

// Stat reads one process. ErrGone.
func Stat(pid int) (Info, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			return Info{}, ErrGone
		}
		return Info{}, err
	}
	return ParseStat(b)
}

// ParseStat reads the line of /proc/PID/stat. The command's name may hold anything, spaces and parentheses too.
func ParseStat(b []byte) (Info, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return Info{}, errStat
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:open])))
	if err != nil {
		return Info{}, errStat
	}
	// The fields after the name; the first is number 3 of the manual.
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 22 || len(f[0]) != 1 {
		return Info{}, errStat
	}
	info := Info{ID: ID{PID: pid}, State: f[0][0]}
	var bad error
	number := func(field int) int64 {
		n, err := strconv.ParseInt(f[field-3], 10, 64)
		if err != nil {
			bad = errStat
		}
		return n
	}
	info.Parent, info.Group, info.Foreground = int(number(4)), int(number(5)), int(number(8))
	info.CPU = time.Duration(number(14)+number(15)) * Tick
	info.ReapedCPU = time.Duration(number(16)+number(17)) * Tick
	info.Start = uint64(number(22))
	info.MemoryPages = number(24)
	info.Kernel = number(9)&0x00200000 != 0 // PF_KTHREAD of the kernel's sched.h
	return info, bad
}

// Runs reports whether the process runs, or would if it got a processor or what it reads from a disk.
func (i Info) Runs() bool { return i.State == 'R' || i.State == 'D' }

// Alive reports whether the process runs; a zombie does not.
func Alive(id ID) bool {
	info, err := Stat(id.PID)
	return err == nil && info.Start == id.Start && info.State != 'Z' && info.State != 'X'
}

// Signal sends a signal to that process and to no other. ErrGone.
func Signal(id ID, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		if errors.Is(err, unix.ESRCH) {
			return ErrGone
		}
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	// The pidfd is of whoever has the pid now; only then is its start time of any worth.
	info, err := Stat(id.PID)
	if err != nil {
		return err
	}
	if info.Start != id.Start {
		return ErrGone
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return ErrGone
		}
		return err
	}
	return nil
}

// BootID tells one boot of the machine from another. Pids and start times mean nothing after a reboot.
func BootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}
