package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// agentCommand is the first argument of the rig's own binary when it plays an agent.
const agentCommand = "agent"

// worker is an agent of the rig: a process of its own that records what it gets and gives.
type worker struct {
	name   string
	record *recordWriter
	id     atomic.Value // string: the agent's id of the present session
}

func agentMain(args []string) int {
	flags := flag.NewFlagSet(agentCommand, flag.ExitOnError)
	server := flags.String("server", "", "address of the core")
	name := flags.String("name", "", "name of the agent")
	capabilities := flags.String("capabilities", "", "comma-separated")
	record := flags.String("record", "", "file of the agent's record")
	state := flags.String("state", "", "file of the session to resume")
	_ = flags.Parse(args) // ExitOnError
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := work(ctx, *server, *name, strings.Split(*capabilities, ","), *record, *state); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	return 0
}

func work(ctx context.Context, server, name string, capabilities []string, record, state string) error {
	file, err := openRecord(record)
	if err != nil {
		return err
	}
	w := &worker{name: name, record: file}
	w.id.Store("")
	return testbed.PlayAgents(ctx, name, 1, func(int) agent.Options {
		return agent.Options{
			URL: server, Name: name, Capabilities: capabilities, MaxConcurrentTasks: 16,
			Handler: w.handle, OnMessage: w.hear, MaxConcurrentMessages: 16, StateFile: state,
			ReconnectMin: 10 * time.Millisecond, ReconnectMax: 100 * time.Millisecond,
			Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, addr)
				if err != nil {
					return nil, err
				}
				return &tap{Conn: conn, see: w.see}, nil
			},
		}
	})
}

// see records the frames that matter. It runs before the agent library gets to see them.
func (w *worker) see(frame protocol.Envelope) {
	var p struct {
		AgentID     string `json:"agentId"`
		TaskID      string `json:"taskId"`
		ExecutionID string `json:"executionId"`
		Attempt     int    `json:"attempt"`
	}
	var kind proof.EntryKind
	switch frame.Type {
	case protocol.TypeTask:
		kind = proof.EntryHandout
	case protocol.TypeTaskAck:
		kind = proof.EntryAck
	case protocol.TypeRegistered:
	default:
		return
	}
	if err := json.Unmarshal(frame.Payload, &p); err != nil {
		fmt.Fprintf(os.Stderr, "frame %s: %v\n", frame.Type, err)
		return
	}
	if frame.Type == protocol.TypeRegistered {
		w.id.Store(p.AgentID)
		return
	}
	w.add(kind, p.TaskID, p.ExecutionID, p.Attempt, nil)
}

func (w *worker) add(kind proof.EntryKind, taskID, executionID string, attempt int, result json.RawMessage) {
	id, _ := w.id.Load().(string)
	w.record.add(proof.Entry{
		Kind: kind, At: time.Now().UnixNano(), Name: w.name, AgentID: id,
		TaskID: taskID, ExecutionID: executionID, Attempt: attempt, Result: result,
	})
}

// handle works on a task as its input asks: for some time, and with an error at the first attempt if it is to.
func (w *worker) handle(ctx context.Context, task *agent.Task) (any, error) {
	in, kind, err := readTask(task.Input)
	if err != nil {
		return nil, err
	}
	if in.Delay%3 == 0 {
		task.Progress("begun")
	}
	timer := time.NewTimer(time.Duration(in.Delay) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if in.Flaky && task.Attempt == 1 {
		w.add(proof.EntryAnswer, task.TaskID, task.ExecutionID, task.Attempt, nil)
		return nil, agent.Retryable(errors.New("not at the first attempt"))
	}
	text, err := in.ask(ctx, task)
	if err != nil {
		return nil, err
	}
	result := answer(task.Input, w.name)
	if kind != "" {
		result = chartAnswer(kind, text)
	}
	w.add(proof.EntryAnswer, task.TaskID, task.ExecutionID, task.Attempt, result)
	return result, nil
}
