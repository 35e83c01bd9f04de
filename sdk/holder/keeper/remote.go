package keeper

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// detach starts this program's run in a session of its own, with the standard input and output of this process and a log
// for the rest, and does not wait for it.
func detach(log string) int {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		_ = wire.Write(os.Stdout, *failed("log", err))
		return 1
	}
	self, err := os.Executable()
	if err != nil {
		_ = wire.Write(os.Stdout, *failed("launch", err))
		return 1
	}
	_, err = syscall.ForkExec(self, []string{self, "run"}, &syscall.ProcAttr{
		Dir: "/",
		// As holder.Start sets them: a small heap that is collected often.
		Env:   []string{"GOTRACEBACK=single", "GOGC=10", "GOMAXPROCS=1"},
		Files: []uintptr{0, 1, file.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = wire.Write(os.Stdout, *failed("launch", err))
		return 1
	}
	return 0
}

// connect passes bytes between a holder's socket and in and out until either ends. When nobody listens there it says so as
// the holder of another life would.
func connect(socket string, in io.Reader, out io.Writer) int {
	conn, err := dialSock(socket, helloTime)
	if err != nil {
		if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
			_ = wire.Write(out, wire.Refused{Code: wire.CodeNonce, Text: "nobody listens on the socket"})
		}
		return 1
	}
	defer func() { _ = conn.Close() }()
	done := make(chan struct{}, 2)
	pass := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from) // an end is an end, whatever its reason
		done <- struct{}{}
	}
	go pass(conn, in)
	go pass(out, conn)
	<-done // the process ends, and what waits for the other side with it
	return 0
}
