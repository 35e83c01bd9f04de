package cmd

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// keyboard reads a terminal in a goroutine that can be ended: a plain read would hold it until the next key.
type keyboard struct {
	typed   chan []byte
	resized chan terminalSize
	failed  chan error // one, when the terminal is gone

	in, out *os.File
	wake    *os.File // writing end of a pipe: closing it ends the reader
	stop    chan struct{}
	signals chan os.Signal
	done    sync.WaitGroup
}

type terminalSize struct{ cols, rows int }

// openKeyboard begins to read. Call close.
func openKeyboard(in, out *os.File) (*keyboard, error) {
	sleeping, wake, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	k := &keyboard{
		typed: make(chan []byte), resized: make(chan terminalSize), failed: make(chan error, 1),
		in: in, out: out, wake: wake, stop: make(chan struct{}), signals: make(chan os.Signal, 1),
	}
	signal.Notify(k.signals, unix.SIGWINCH)
	k.done.Add(2)
	go func() {
		defer k.done.Done()
		defer sleeping.Close()
		if err := k.read(int(sleeping.Fd())); err != nil {
			k.failed <- err
		}
	}()
	go func() {
		defer k.done.Done()
		k.watchSize()
	}()
	return k, nil
}

// close ends the reading. What was typed and not taken is lost.
func (k *keyboard) close() {
	signal.Stop(k.signals)
	close(k.stop)
	_ = k.wake.Close()
	k.done.Wait()
}

func (k *keyboard) read(sleeping int) error {
	for {
		ready := []unix.PollFd{
			{Fd: int32(k.in.Fd()), Events: unix.POLLIN},
			{Fd: int32(sleeping), Events: unix.POLLIN},
		}
		if _, err := unix.Poll(ready, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return err
		}
		if ready[1].Revents != 0 {
			return nil
		}
		buf := make([]byte, 4096)
		n, err := unix.Read(int(k.in.Fd()), buf)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return err
		case n == 0:
			return io.EOF
		}
		select {
		case k.typed <- buf[:n]:
		case <-k.stop:
			return nil
		}
	}
}

// watchSize passes on each new size of the terminal.
func (k *keyboard) watchSize() {
	for {
		select {
		case <-k.signals:
		case <-k.stop:
			return
		}
		cols, rows, err := term.GetSize(int(k.out.Fd()))
		if err != nil {
			continue
		}
		select {
		case k.resized <- terminalSize{cols, rows}:
		case <-k.stop:
			return
		}
	}
}
