package e2e_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// console reads a terminal until it ends.
type console struct {
	t    *testing.T
	conn *terminal.Terminal
	done chan struct{} // closed when nothing more comes

	mu      sync.Mutex // guards all below
	output  strings.Builder
	screens int    // repaints
	offset  uint64 // after the last byte
	lost    uint64
	exit    *runtime.Exit
	err     error
}

// watch begins to read.
func watch(t *testing.T, conn *terminal.Terminal) *console {
	t.Helper()
	v := &console{t: t, conn: conn, done: make(chan struct{})}
	go v.read()
	t.Cleanup(v.close)
	return v
}

func (v *console) read() {
	defer close(v.done)
	for {
		f, err := v.conn.Recv()
		v.mu.Lock()
		if err != nil {
			v.err = err
			v.mu.Unlock()
			return
		}
		v.output.Write(f.Data)
		v.offset = f.Offset
		v.lost += f.Lost
		if f.Repaint {
			v.screens++
		}
		if f.Exit != nil {
			v.exit = f.Exit
		}
		v.mu.Unlock()
	}
}

// close leaves the terminal.
func (v *console) close() {
	_ = v.conn.Close()
	<-v.done
}

// text is all that came so far.
func (v *console) text() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.output.String()
}

// at returns where a later viewer goes on.
func (v *console) at() *uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	offset := v.offset
	return &offset
}

// sees waits until a text came.
func (v *console) sees(text string) {
	v.t.Helper()
	defer func() {
		if !strings.Contains(v.text(), text) {
			v.t.Logf("the terminal showed %q, then %v", tail(v.text(), 2000), v.err)
		}
	}()
	eventually(v.t, "the terminal to show "+text, func() bool { return strings.Contains(v.text(), text) })
}

// types types.
func (v *console) types(text string) {
	v.t.Helper()
	if err := v.conn.Input([]byte(text)); err != nil {
		v.t.Fatal(err)
	}
}

// ends waits for the end of the terminal, and returns how the agent ended.
func (v *console) ends() *runtime.Exit {
	v.t.Helper()
	eventually(v.t, "the end of the terminal", func() bool {
		select {
		case <-v.done:
			return true
		default:
			return false
		}
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.exit
}
