package agentcli_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// TestWhyItEnded ends an agent in each way, while a message waits for its turn.
func TestWhyItEnded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(g *rig, p *process)
		want string
		code int // -1: not known
	}{
		{"ByItself", func(_ *rig, p *process) { p.typed <- []byte("\x15/exit\r") }, runtime.ReasonExited, 4},
		{"Crash", func(_ *rig, p *process) { p.kill() }, runtime.ReasonExited, 137},
		{"Stopped", func(g *rig, _ *process) { _ = g.Stop(context.Background(), "a", runtime.StopOptions{}) }, runtime.ReasonStopped, 4},
		{"Killed", func(g *rig, _ *process) { _ = g.Stop(context.Background(), "a", runtime.StopOptions{Force: true}) }, runtime.ReasonKilled, 137},
		{"OutOfMemory", func(_ *rig, p *process) {
			p.mu.Lock()
			p.outOfMem = true
			p.mu.Unlock()
			p.kill()
		}, runtime.ReasonOutOfMemory, 137},
		{"OutOfMemoryBefore", func(_ *rig, p *process) { // something that it ran was, and it went on
			p.mu.Lock()
			p.outOfMem = true
			p.mu.Unlock()
			p.typed <- []byte("\x15/exit\r")
		}, runtime.ReasonExited, 0},
		{"Evicted", func(_ *rig, p *process) {
			p.mu.Lock()
			p.exit.Reason = "lost: Evicted: the node was low on memory"
			p.mu.Unlock()
			p.kill()
		}, "lost: Evicted: the node was low on memory", 137},
		{"Lost", func(_ *rig, p *process) {
			p.mu.Lock()
			p.noExit = true
			p.mu.Unlock()
			p.kill()
		}, runtime.ReasonLost, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &fakeCLI{exitCode: tt.code, turn: func(p *process, msg string) { p.signal(agentcli.Signal{Kind: took, Text: msg}) }}
			g, _ := ready(t, c, nil)
			type result struct {
				res runtime.SendResult
				err error
			}
			sent := make(chan result, 1)
			go func() {
				res, err := g.Send(context.Background(), "a", runtime.Input{Message: "m", ExpectResponse: true})
				sent <- result{res, err}
			}()
			g.status("a", runtime.StatusBusy)
			go tt.end(g, g.l.process())
			a := g.status("a", runtime.StatusStopped)
			if a.Reason != tt.want || (a.ExitCode == nil) != (tt.code < 0) || a.ExitCode != nil && *a.ExitCode != tt.code {
				t.Errorf("agent %+v", a)
			}
			r := <-sent
			if r.err != nil || !r.res.Sent || r.res.Response == nil || r.res.Response.Error == nil ||
				r.res.Response.Error.Code != wire.TurnAgentEnded || r.res.Response.Text != "" {
				t.Errorf("send: %+v, %v", r.res, r.err)
			}
			events := g.events("a")
			if e := events[len(events)-2]; e.Type != runtime.EventTurnComplete || e.Error == nil || e.Error.Code != wire.TurnAgentEnded {
				t.Errorf("event before the last %+v", e)
			}
			if e := events[len(events)-1]; e.Type != runtime.EventStopped || e.Reason != tt.want || (e.Exit == nil) != (tt.code < 0) {
				t.Errorf("event %+v", e)
			}
		})
	}
}

func TestStoppedLongAgo(t *testing.T) {
	var later atomic.Int64
	g, _ := ready(t, &fakeCLI{}, func(o *agentcli.Options) {
		o.KeepStopped = time.Hour
		o.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	if err := g.Stop(t.Context(), "a", runtime.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	g.Retire(t.Context())
	if _, err := g.Inspect(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	later.Store(int64(2 * time.Hour))
	g.Retire(t.Context())
	_, err := g.Inspect(t.Context(), "a")
	wantCode(t, err, runtime.CodeNotFound)
}

func TestTerminalEndsWithItsContext(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	v, err := g.Attach(ctx, "a", runtime.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for {
		if _, err := v.Recv(); errors.Is(err, io.EOF) {
			break
		}
	}
	// The runtime lets go: viewers end without an exit.
	w := g.attach("a", runtime.AttachOptions{})
	g.close()
	if exit := w.drain(); exit != nil {
		t.Errorf("exit %+v", exit)
	}
}
