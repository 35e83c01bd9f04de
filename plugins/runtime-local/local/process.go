package local

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// process is an agent whose holder is connected.
type process struct {
	*holder.Client
	launcher *Launcher
	handle   handle
}

var (
	_ agentcli.Process      = (*process)(nil)
	_ agentcli.Checkpointer = (*process)(nil)
	_ agentcli.HookSource   = (*process)(nil)
	_ agentcli.Meter        = (*process)(nil)
)

// Handle implements agentcli.Process.
func (p *process) Handle() []byte { return p.handle.encode() }

// Info implements agentcli.Process.
func (p *process) Info() agentcli.ProcessInfo {
	return agentcli.ProcessInfo{PID: p.handle.Command.PID, StartedAt: p.handle.StartedAt}
}

// Kill ends the agent even when its holder is dead.
func (p *process) Kill(ctx context.Context) error {
	err := p.Client.Kill(ctx)
	if err == nil {
		removeGroups(p.handle.Groups)
	}
	cut := runtime.ErrorCode(err) == runtime.CodeUnavailable
	if !errors.Is(err, agentcli.ErrGone) && !cut || cut && p.launcher.holds(ctx, p.handle) {
		return err
	}
	if !p.launcher.clear(p.handle) {
		return runtime.Errorf(runtime.CodeInternal, "processes of agent %s do not end", p.handle.ID)
	}
	return nil
}

// Wait returns how the command ended. A holder that was killed left no exit; what it held is ended then.
func (p *process) Wait(ctx context.Context) (runtime.Exit, error) {
	exit, err := p.Client.Wait(ctx)
	if err == nil {
		return withReason(exit, p.handle), nil
	}
	if runtime.ErrorCode(err) == runtime.CodeUnavailable {
		holds := p.launcher.holds(ctx, p.handle)
		known, readErr := p.launcher.readExit(p.handle)
		switch {
		case readErr == nil:
			exit, err = withReason(exitOf(known), p.handle), nil
		case holds: // only the connection is gone: the agent is fine, and must not be ended for it
			return exit, err
		default:
			err = agentcli.ErrGone
		}
		p.launcher.clear(p.handle)
	}
	return exit, err
}

// Usage implements agentcli.Meter.
func (p *process) Usage(context.Context) (agentcli.Usage, error) { return usage(p.handle) }

// Close lets go of the holder; one whose agent has ended ends too, and is reaped.
func (p *process) Close() error {
	err := p.Client.Close()
	p.launcher.children.reap()
	return err
}

func exitOf(m wire.Exited) runtime.Exit {
	exit := runtime.Exit{Code: int(m.Code)}
	if m.Killed {
		exit.Reason = runtime.ReasonKilled
	}
	return exit
}

// withReason says so when the kernel killed the command for its memory.
func withReason(exit runtime.Exit, h handle) runtime.Exit {
	if exit.Reason == "" && exit.Code == 128+int(unix.SIGKILL) && outOfMemory(h.Groups) {
		exit.Reason = runtime.ReasonOutOfMemory
	}
	return exit
}

// ended is an agent that ended while nobody looked, and left its exit.
type ended struct {
	handle handle
	exit   wire.Exited
}

var _ agentcli.Process = (*ended)(nil)

func notRunning() error {
	return runtime.Errorf(runtime.CodeNotRunning, "the agent's process has ended")
}

func (e *ended) Handle() []byte { return e.handle.encode() }

func (e *ended) Info() agentcli.ProcessInfo {
	return agentcli.ProcessInfo{PID: e.handle.Command.PID, StartedAt: e.handle.StartedAt}
}

func (e *ended) Output(context.Context, uint64) (agentcli.Output, error) {
	return endedOutput(e.exit.Head), nil
}
func (e *ended) Write(context.Context, []byte) error    { return notRunning() }
func (e *ended) Resize(context.Context, int, int) error { return notRunning() }
func (e *ended) Interrupt(context.Context) error        { return notRunning() }
func (e *ended) Close() error                           { return nil }

// Kill has nothing left to end but the agent's cgroups.
func (e *ended) Kill(context.Context) error {
	removeGroups(e.handle.Groups)
	return nil
}

func (e *ended) Wait(context.Context) (runtime.Exit, error) {
	return withReason(exitOf(e.exit), e.handle), nil
}

// endedOutput is the output of an ended agent, whose bytes are gone with its holder.
type endedOutput uint64

func (endedOutput) Read([]byte) (int, error) { return 0, io.EOF }
func (o endedOutput) Offset() uint64         { return uint64(o) }
func (endedOutput) Close() error             { return nil }
