package drivertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// relayArg makes the test binary a hook relay: relayArg, socket, name of the hook.
const relayArg = "-wardroom-drivertest-relay"

// Main runs the tests, or the hook relay, or the MCP server of ServerCommand, if the binary was started as one. Call it from TestMain.
func Main(m *testing.M) int {
	if len(os.Args) == 4 && os.Args[1] == relayArg {
		if err := relay(os.Args[2], os.Args[3], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	if len(os.Args) == 2 && os.Args[1] == serverArg {
		serve(os.Stdin, os.Stdout)
		return 0
	}
	code := m.Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	return code
}

type hookRequest struct {
	Name    string `json:"name"`
	Payload []byte `json:"payload"`
}

func relay(socket, name string, in io.Reader, out io.Writer) error {
	payload, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(hookRequest{Name: name, Payload: payload}); err != nil {
		return err
	}
	_, err = io.Copy(out, conn)
	return err
}

// hooks listens for relays and yields their calls.
type hooks struct {
	listener net.Listener
	calls    chan *agentcli.HookCall
	closed   chan struct{}
	group    sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

func listenHooks(socket string) (*hooks, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	h := &hooks{
		listener: listener, calls: make(chan *agentcli.HookCall, 64), closed: make(chan struct{}),
		conns: map[net.Conn]bool{},
	}
	h.group.Go(h.accept)
	return h, nil
}

func (h *hooks) accept() {
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		h.conns[conn] = true
		h.mu.Unlock()
		h.group.Go(func() { h.serve(conn) })
	}
}

// serve hands one call over and keeps its connection until it is answered or the relay ends.
func (h *hooks) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		h.mu.Lock()
		delete(h.conns, conn)
		h.mu.Unlock()
	}()
	var req hookRequest
	if err := json.NewDecoder(conn).Decode(&req); err != nil {
		return
	}
	done := make(chan struct{})
	call := agentcli.NewHookCall(req.Name, req.Payload, done, func(body []byte) {
		_ = conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
		_, _ = conn.Write(body)
		conn.Close()
	})
	select {
	case h.calls <- call:
	case <-h.closed:
		return
	}
	_, _ = io.Copy(io.Discard, conn) // until the relay, or the answer, closes it
	close(done)
}

func (h *hooks) close() {
	close(h.closed)
	h.listener.Close()
	h.mu.Lock()
	for conn := range h.conns {
		conn.Close()
	}
	h.mu.Unlock()
	h.group.Wait()
	close(h.calls)
}

// shortSocket returns a path that fits into a socket's address.
func shortSocket(id string) (string, error) {
	dir, err := os.MkdirTemp("", "wr")
	if err != nil {
		return "", err
	}
	return dir + "/" + strings.Map(func(r rune) rune {
		if r == '/' {
			return '-'
		}
		return r
	}, id), nil
}
