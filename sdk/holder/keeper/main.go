package keeper

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

const usage = `holder holds the terminal of one agent for a runtime, which starts it:
  holder run                 reads what to start from standard input
  holder hook SOCKET NAME    hands standard input to the runtime and prints its answer
`

// Main is the program: args are without its name. It returns the exit code.
func Main(args []string) int {
	switch {
	case len(args) == 1 && args[0] == "run":
		return run()
	case len(args) == 3 && args[0] == "hook":
		relay(args[1], args[2], os.Stdin, os.Stdout)
		return 0 // a hook that cannot reach the runtime must not stop the CLI
	}
	_, _ = os.Stderr.WriteString(usage)
	return 2
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
