package keeper

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// ownEnv are the variables that a holding process has for itself.
var ownEnv = []string{"GOTRACEBACK=single", "GOGC=10", "GOMAXPROCS=1"}

// inherited is the environment that this process was started with, and env over it. The last of two of one name counts.
func inherited(env []string) []string {
	own := slices.DeleteFunc(os.Environ(), func(pair string) bool { return slices.Contains(ownEnv, pair) })
	names := map[string]bool{}
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		names[name] = true
	}
	own = slices.DeleteFunc(own, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return names[name]
	})
	return append(own, env...)
}

// detach starts this program's run in a session of its own, hands it the launch that standard input holds, and prints what
// became of it; log gets what it says when it crashes. Nothing of this process is the other's: it may end at once.
func detach(log string) int {
	if err := startDetached(log); err != nil {
		_ = wire.Write(os.Stdout, *failed("launch", err))
		return 1
	}
	return 0
}

// detachApart is detach by a process that ends then, for one that does not: what it starts becomes a child of the first process of the
// pod, which ends what it has by SIGTERM, and ends itself where it has nothing.
func detachApart(log string) int {
	self, err := os.Executable()
	if err != nil {
		_ = wire.Write(os.Stdout, *failed("launch", err))
		return 1
	}
	cmd := exec.Command(self, "start", log)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil && (cmd.ProcessState == nil || !cmd.ProcessState.Exited()) {
		_ = wire.Write(os.Stdout, *failed("launch", err))
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

func startDetached(log string) error {
	kind, body, err := wire.NewReader(os.Stdin).Next()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	_, err = syscall.ForkExec(self, []string{self, "run"}, &syscall.ProcAttr{
		Dir: "/",
		// As holder.Start sets them: a small heap that is collected often. The rest is for Launch.Inherit.
		Env:   append(os.Environ(), ownEnv...),
		Files: []uintptr{inR.Fd(), outW.Fd(), file.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	_, _ = inR.Close(), outW.Close()
	if err != nil {
		return err
	}
	var head [wire.HeaderLen]byte
	wire.PutHeader(head[:], kind, len(body))
	if _, err := inW.Write(append(head[:], body...)); err != nil {
		return err
	}
	_ = inW.Close()
	_, err = io.Copy(os.Stdout, outR) // it lets go of the pipe when it has said how it went
	return err
}

// connect passes bytes between a holder's socket and in and out until either ends. When nothing listens there it says
// so as the holder of another life would.
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
