package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// agentsMain is the process that plays the agents: working ones through the SDK, or idle ones over bare
// sockets, which cost this side as little as possible.
func agentsMain(args []string) int {
	flags := flag.NewFlagSet("agents", flag.ExitOnError)
	server := flags.String("server", "", "address of the core")
	n := flags.Int("n", 3, "agents")
	slots := flags.Int("slots", 1024, "tasks that each agent takes at once")
	idle := flags.Bool("idle", false, "connect and send heartbeats only")
	_ = flags.Parse(args) // ExitOnError
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	play := func() error { return echoAgents(ctx, *server, *n, *slots) }
	if *idle {
		play = func() error { return idleAgents(ctx, *server, *n) }
	}
	if err := play(); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "agents:", err)
		return 1
	}
	return 0
}

// echoAgents answer every task at once.
func echoAgents(ctx context.Context, server string, n, slots int) error {
	return testbed.PlayAgents(ctx, "echo", n, func(i int) agent.Options {
		return agent.Options{
			URL: server, Token: os.Getenv("WARDROOM_TOKEN"), Name: fmt.Sprintf("echo-%d", i), Capabilities: []string{"echo"},
			MaxConcurrentTasks: slots, Inline: true,
			Handler: func(context.Context, *agent.Task) (any, error) {
				return map[string]any{"label": "pangram", "confidence": 0.9}, nil
			},
		}
	})
}

// idleAgents register and send a heartbeat each interval, spread over it.
func idleAgents(ctx context.Context, server string, n int) error {
	dialer := websocket.Dialer{
		Subprotocols: []string{protocol.Subprotocol}, ReadBufferSize: 512, WriteBufferSize: 512,
		HandshakeTimeout: 30 * time.Second,
	}
	url := "ws" + server[len("http"):] + protocol.Path
	conns := make([]*websocket.Conn, n)
	failed := make(chan error, 1)
	var wg sync.WaitGroup
	gate := make(chan struct{}, 64) // connects under way
	for i := range n {
		gate <- struct{}{}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() { <-gate }()
			conn, err := idleAgent(ctx, dialer, url, i)
			if err != nil {
				select {
				case failed <- err:
				default:
				}
				return
			}
			conns[i] = conn
		}()
	}
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	for _, conn := range conns {
		go func() { // ends when the connection is closed
			for {
				if _, _, err := conn.NextReader(); err != nil {
					return
				}
			}
		}()
	}
	fmt.Println("ready: idle")
	beat := time.NewTicker(10 * time.Second / time.Duration(n))
	defer beat.Stop()
	frame := []byte(`{"type":"heartbeat","timestamp":"2026-01-01T00:00:00Z","payload":{"status":"healthy","activeTasks":0}}`)
	for i := 0; ; i++ {
		select {
		case <-beat.C:
		case <-ctx.Done():
			for _, conn := range conns {
				_ = conn.Close()
			}
			return nil
		}
		if err := conns[i%n].WriteMessage(websocket.TextMessage, frame); err != nil {
			return err
		}
	}
}

func idleAgent(ctx context.Context, dialer websocket.Dialer, url string, i int) (*websocket.Conn, error) {
	conn, res, err := dialer.DialContext(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	if tcp, ok := conn.NetConn().(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4096)
	}
	register := fmt.Sprintf(`{"type":"register","id":"r","timestamp":"2026-01-01T00:00:00Z","payload":{"name":"idle-%d","capabilities":["idle"],"config":{"maxConcurrentTasks":1}}}`, i)
	if err := conn.WriteMessage(websocket.TextMessage, []byte(register)); err != nil {
		return nil, err
	}
	_, answer, err := conn.ReadMessage()
	if err != nil {
		return nil, err
	}
	if len(answer) < 20 || !containsType(answer, protocol.TypeRegistered) {
		return nil, fmt.Errorf("register was answered by %s", answer)
	}
	return conn, nil
}
