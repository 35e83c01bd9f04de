package local

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/proc"
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
	_ agentcli.Foregrounder = (*process)(nil)
)

// Handle implements agentcli.Process.
func (p *process) Handle() []byte { return p.handle.encode() }

// Info implements agentcli.Process.
func (p *process) Info() agentcli.ProcessInfo { return p.handle.info() }

func (h handle) info() agentcli.ProcessInfo {
	return agentcli.ProcessInfo{PID: h.Command.PID, StartedAt: h.StartedAt}
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
			exit, err = withReason(holder.ExitOf(known), p.handle), nil
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

// Foreground implements agentcli.Foregrounder.
func (p *process) Foreground(context.Context) (int, error) {
	info, err := proc.Stat(p.handle.Command.PID)
	if err != nil || info.Start != p.handle.Command.Start {
		return 0, agentcli.ErrGone
	}
	return max(0, info.Foreground), nil
}

// Close lets go of the holder; one whose agent has ended ends too, and is reaped.
func (p *process) Close() error {
	err := p.Client.Close()
	p.launcher.children.reap()
	return err
}

// withReason says so when the kernel killed the command for its memory.
func withReason(exit runtime.Exit, h handle) runtime.Exit {
	if exit.Reason == "" && exit.Code == 128+int(unix.SIGKILL) && outOfMemory(h.Groups) {
		exit.Reason = runtime.ReasonOutOfMemory
	}
	return exit
}
