package life

import (
	"context"
	"io"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Ended is the agentcli.Process of an agent that ended unobserved, and whose exit is known.
type Ended struct {
	Record  []byte // what Handle returns
	Process agentcli.ProcessInfo
	Exit    runtime.Exit
	Head    *uint64                         // how much output there was; nil: not known
	End     func(ctx context.Context) error // ends what is left of it; nil: nothing is
}

var _ agentcli.Process = (*Ended)(nil)

func notRunning() error {
	return runtime.Errorf(runtime.CodeNotRunning, "the agent's process has ended")
}

// Handle implements agentcli.Process.
func (e *Ended) Handle() []byte { return e.Record }

// Info implements agentcli.Process.
func (e *Ended) Info() agentcli.ProcessInfo { return e.Process }

// Write is NOT_RUNNING, as Resize and Interrupt are.
func (e *Ended) Write(context.Context, []byte) error { return notRunning() }

// Resize implements agentcli.Process.
func (e *Ended) Resize(context.Context, int, int) error { return notRunning() }

// Interrupt implements agentcli.Process.
func (e *Ended) Interrupt(context.Context) error { return notRunning() }

// Close implements agentcli.Process.
func (e *Ended) Close() error { return nil }

// Kill ends what is left of the life.
func (e *Ended) Kill(ctx context.Context) error {
	if e.End == nil {
		return nil
	}
	return e.End(ctx)
}

// Wait implements agentcli.Process.
func (e *Ended) Wait(context.Context) (runtime.Exit, error) { return e.Exit, nil }

// Output is at its end, wherever that is: the bytes are gone with the holder.
func (e *Ended) Output(_ context.Context, from uint64) (agentcli.Output, error) {
	if e.Head != nil {
		from = *e.Head
	}
	return endedOutput(from), nil
}

// endedOutput is the output of an ended agent.
type endedOutput uint64

func (endedOutput) Read([]byte) (int, error) { return 0, io.EOF }
func (o endedOutput) Offset() uint64         { return uint64(o) }
func (endedOutput) Close() error             { return nil }
