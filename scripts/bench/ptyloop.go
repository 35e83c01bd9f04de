package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"

	"github.com/creack/pty"
	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// loopMain is the baseline of the terminal: a shell per connection, a loop that copies what its terminal gives
// into messages, and nothing else. Its parent kills it.
func loopMain(args []string) int {
	flags := flag.NewFlagSet("loop", flag.ExitOnError)
	_ = flags.Parse(args) // ExitOnError
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "loop:", err)
		return 1
	}
	fmt.Printf("ready: ws://%s\n", listener.Addr())
	fmt.Fprintln(os.Stderr, "loop:", http.Serve(listener, http.HandlerFunc(loop)))
	return 1
}

func loop(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	cmd := exec.Command("bash", "--norc", "--noprofile", "--noediting")
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: 40})
	if err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			_, data, err := conn.ReadMessage()
			if err != nil {
				_ = cmd.Process.Kill()
				return
			}
			if _, err := master.Write(data); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := master.Read(buf)
		if err == nil {
			err = conn.WriteMessage(websocket.BinaryMessage, buf[:n])
		}
		if err != nil {
			break
		}
	}
	_ = conn.Close()
	<-done
	_ = master.Close()
	_ = cmd.Wait()
}

// plainLoop starts the baseline's process.
func (b *bench) plainLoop(ctx context.Context) (*testbed.Process, error) { return b.play(ctx, "loop") }

// plainScreen is a connection to the baseline.
type plainScreen struct {
	conn   *websocket.Conn
	buf    []byte
	offset uint64
}

// plainView connects to the baseline, which starts a shell.
func plainView(ctx context.Context, address string) (*viewer, error) {
	dialer := websocket.Dialer{ReadBufferSize: 32 << 10}
	conn, response, err := dialer.DialContext(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	return &viewer{screen: &plainScreen{conn: conn, buf: make([]byte, 128<<10)}}, nil
}

// Recv returns a message; none of the baseline is larger than its buffer.
func (s *plainScreen) Recv() (runtime.Frame, error) {
	_, message, err := s.conn.NextReader()
	if err != nil {
		return runtime.Frame{}, err
	}
	n := 0
	for {
		got, err := message.Read(s.buf[n:])
		n += got
		if err != nil {
			break // the end of the message, or of the connection, which NextReader tells
		}
	}
	s.offset += uint64(n)
	return runtime.Frame{Data: s.buf[:n], Offset: s.offset}, nil
}

func (s *plainScreen) Input(p []byte) error  { return s.conn.WriteMessage(websocket.BinaryMessage, p) }
func (s *plainScreen) Resize(int, int) error { return nil } // its shell keeps its first size
func (s *plainScreen) Close() error          { return s.conn.Close() }
