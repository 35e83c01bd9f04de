package keeper

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/coredump"
	"github.com/wardroom/wardroom/sdk/holder/wire"
)

const help = `holder holds the terminal of one agent for a runtime, which starts it:
  holder run                 reads what to start from standard input
  holder start LOG           the same in a session of its own, and returns; LOG gets its standard error
  holder start LOG SOCKET    the same, and then connect SOCKET
  holder connect SOCKET      standard input and output are a connection to the holder that listens there
  holder hook SOCKET NAME    hands standard input to the runtime and prints its answer
And in a pod, where a runtime has no other program:
  holder room SECONDS EXIT   takes in what loses its parent; ends when nothing ran for so long, with the file EXIT as its last word
  holder look NAME           prints where a command is on the PATH
  holder put                 writes the files that standard input describes
  holder get PATH FROM MOST  prints a part of a file
  holder clear PATH          removes a directory and all that is in it
  holder usage               prints what the container has used
`

// Main is the program: args are without its name. It returns the exit code.
//
// run reads a wire.Launch from standard input, writes wire.Started or wire.Failed to standard output, and then has the
// null device in place of both: a shell or an ssh that waits for the end of its output goes on. It keeps standard error,
// for what a crash says, so that has to be a file. start runs it in a session of its own, with the file LOG for that, and
// ends when it runs. connect is for holders that are reached by starting a program where they are. hook is run by the CLI of an
// agent runs; its descriptors are the CLI's, and it always ends with 0. The others are for pods: see holder.Room.
func Main(args []string) int {
	_ = coredump.Off() // lowering one's own limit is always allowed
	switch {
	case len(args) == 1 && args[0] == "run":
		return run()
	case len(args) == 2 && args[0] == "start":
		return detach(args[1])
	case len(args) == 3 && args[0] == "start":
		if code := detachApart(args[1]); code != 0 {
			return code
		}
		return connect(args[2], os.Stdin, os.Stdout)
	case len(args) == 2 && args[0] == "connect":
		return connect(args[1], os.Stdin, os.Stdout)
	case len(args) == 3 && args[0] == "hook":
		relay(args[1], args[2], os.Stdin, os.Stdout)
		return 0 // a hook that cannot reach the runtime must not stop the CLI
	}
	if code, known := inRoom(args); known {
		return code
	}
	_, _ = os.Stderr.WriteString(help)
	return 2
}

// inRoom runs what serves a pod.
func inRoom(args []string) (code int, known bool) {
	switch {
	case len(args) == 3 && args[0] == "room":
		seconds, err := strconv.ParseUint(args[1], 10, 31)
		if err != nil || seconds == 0 {
			return 2, false
		}
		return holdRoom(time.Duration(seconds)*time.Second, args[2]), true
	case len(args) == 2 && args[0] == "look":
		return look(args[1], os.Stdout), true
	case len(args) == 1 && args[0] == "put":
		return put(os.Stdin, os.Stdout), true
	case len(args) == 4 && args[0] == "get":
		from, badFrom := strconv.ParseInt(args[2], 10, 64)
		most, badMost := strconv.ParseInt(args[3], 10, 32)
		if badFrom != nil || badMost != nil {
			return 2, false
		}
		return get(args[1], from, int(most), os.Stdout), true
	case len(args) == 2 && args[0] == "clear" && filepath.IsAbs(args[1]):
		return codeOf(os.RemoveAll(args[1])), true
	case len(args) == 1 && args[0] == "usage":
		return usage(os.Stdout), true
	}
	return 2, false
}

// run holds what standard input describes; standard output gets Started or Failed, and then both are let go.
func run() int {
	l, err := readLaunch(os.Stdin)
	if err != nil {
		_ = wire.Write(os.Stdout, *failed("launch", err))
		return 2
	}
	k, bad := Open(l)
	if bad != nil {
		_ = wire.Write(os.Stdout, *bad)
		return 1
	}
	_ = wire.Write(os.Stdout, wire.Started{PID: uint32(k.command.PID), Start: k.command.Start})
	letGo()
	k.Run()
	return 0
}

func readLaunch(r io.Reader) (wire.Launch, error) {
	kind, body, err := wire.NewReader(r).Next()
	if err != nil {
		return wire.Launch{}, err
	}
	if kind != wire.KindLaunch {
		return wire.Launch{}, errUnknown
	}
	return wire.ParseLaunch(body)
}

// letGo replaces standard input and output by the null device: whoever started this process must not wait for it.
func letGo() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = unix.Dup3(null, 0, 0)
	_ = unix.Dup3(null, 1, 0)
	_ = unix.Close(null)
}
