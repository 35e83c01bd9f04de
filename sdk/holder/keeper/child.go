package keeper

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/confine"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// oomScore makes the kernel take agents before anything else of the machine's services.
const oomScore = "500"

// failed makes the message for what did not work.
func failed(step string, err error) *wire.Failed {
	f := &wire.Failed{Step: step, Text: err.Error()}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		f.Errno = uint32(errno)
	}
	return f
}

// start opens the terminal and starts the command in it, as the leader of a session of its own.
func start(l *wire.Launch) (*terminal, proc.ID, *wire.Failed) {
	term, slave, err := openTerminal(l.Cols, l.Rows)
	if err != nil {
		return nil, proc.ID{}, failed("terminal", err)
	}
	defer func() { _ = unix.Close(slave) }()

	attr := &syscall.ProcAttr{
		Dir:   l.Dir,
		Env:   l.Env,
		Files: []uintptr{uintptr(slave), uintptr(slave), uintptr(slave)},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0},
	}
	if l.Cgroup != "" {
		fd, err := unix.Open(l.Cgroup, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			term.close()
			return nil, proc.ID{}, failed("cgroup", &os.PathError{Op: "open", Path: l.Cgroup, Err: err})
		}
		defer func() { _ = unix.Close(fd) }()
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
	}
	back, err := join(l.Joins, l.Homes)
	if err != nil {
		term.close()
		return nil, proc.ID{}, failed("cgroup", err)
	}
	if u := l.User; u != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
		// It may open its own terminal again, by name, as programs that ask for passwords do.
		if err := unix.Fchown(slave, int(u.UID), -1); err != nil {
			back()
			term.close()
			return nil, proc.ID{}, failed("terminal", err)
		}
	}
	pid, step, err := forkConfined(l, attr)
	back()
	if err != nil {
		term.close()
		return nil, proc.ID{}, failed(step, err)
	}
	// Raising the score is always allowed, and if it fails nothing else does.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte(oomScore), 0)
	// The child cannot be reaped before the reaper runs, so its entry is there, as a zombie at least.
	info, err := proc.Stat(pid)
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		term.close()
		return nil, proc.ID{}, failed("command", err)
	}
	return term, info.ID, nil
}

// forkConfined starts the command from a thread that is under its rules and ends afterwards: they come with the thread
// that forks, and there is no way out of them.
func forkConfined(l *wire.Launch, attr *syscall.ProcAttr) (pid int, step string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good, so that the thread ends with this goroutine
		step = "confine"
		rules := confine.Rules{Landlock: l.Landlock, Shut: l.Shut, Open: l.Open, Readable: l.Readable}
		if err = confine.Enter(rules); err != nil {
			return
		}
		step = "command"
		pid, err = syscall.ForkExec(l.Path, append([]string{l.Path}, l.Args...), attr)
	}()
	<-done
	return pid, step, err
}

// join moves this process into cgroups of the older hierarchies, where a child can only be born beside its
// parent; back moves it to where it was.
func join(dirs, homes []string) (back func(), err error) {
	var undo []string
	back = func() {
		for _, home := range undo {
			_ = os.WriteFile(home+"/cgroup.procs", []byte("0"), 0)
		}
	}
	for i, dir := range dirs {
		if err := os.WriteFile(dir+"/cgroup.procs", []byte("0"), 0); err != nil {
			back()
			return nil, err
		}
		undo = append(undo, homes[i])
	}
	return back, nil
}
