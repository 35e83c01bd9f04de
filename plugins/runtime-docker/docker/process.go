package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// killTime is how long the holder may take to end what it holds, before its container is ended.
const killTime = 5 * time.Second

// process is an agent whose holder is connected.
type process struct {
	*holder.Client
	launcher *Launcher
	handle   handle
	killed   atomic.Bool // Kill ended the container
}

var (
	_ agentcli.Process      = (*process)(nil)
	_ agentcli.Checkpointer = (*process)(nil)
	_ agentcli.HookSource   = (*process)(nil)
	_ agentcli.Meter        = (*process)(nil)
	_ agentcli.Foregrounder = (*process)(nil)
	_ agentcli.OutputHeader = (*process)(nil)
	_ agentcli.Backlogger   = (*process)(nil)
)

// Handle implements agentcli.Process.
func (p *process) Handle() []byte { return p.handle.encode() }

// Info implements agentcli.Process.
func (p *process) Info() agentcli.ProcessInfo { return p.handle.info() }

func (h handle) info() agentcli.ProcessInfo {
	return agentcli.ProcessInfo{PID: h.Command.PID, ContainerID: h.Container, StartedAt: h.StartedAt}
}

// Kill ends the agent, by its holder where that answers, and removes its container.
func (p *process) Kill(ctx context.Context) error {
	asked, cancel := context.WithTimeout(ctx, killTime)
	err := p.Client.Kill(asked)
	cancel()
	if err != nil {
		p.killed.Store(true)
	}
	return p.launcher.end(ctx, p.handle)
}

// Wait returns how the command ended.
func (p *process) Wait(ctx context.Context) (runtime.Exit, error) {
	exit, err := p.Client.Wait(ctx)
	if err == nil && exit.Reason == "" && exit.Code == 128+9 && p.outOfMemory(ctx) {
		exit.Reason = runtime.ReasonOutOfMemory
	}
	return exit, err
}

// gone is asked when the holder was lost before it reported an end.
func (p *process) gone(ctx context.Context) (runtime.Exit, error) {
	exit, err := p.launcher.ended(ctx, p.handle)
	if p.killed.Load() && errors.Is(err, agentcli.ErrGone) {
		return runtime.Exit{Code: 128 + 9, Reason: runtime.ReasonKilled}, nil
	}
	return exit, err
}

// outOfMemory reports whether the kernel ended something of the container for its memory; false if that is not known.
func (p *process) outOfMemory(ctx context.Context) bool {
	h := p.handle
	if info, err := proc.Stat(h.Holder.PID); h.Holder.PID != 0 && h.Boot == p.launcher.bootID && err == nil && info.Start == h.Holder.Start && killedForMemory(h.Holder.PID) {
		return true // an engine may not say so before the container has ended
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	info, err := p.launcher.engine.ContainerInspect(ctx, p.handle.Container)
	return err == nil && info.State != nil && info.State.OOMKilled
}

// controlGroups is where the kernel has control groups.
const controlGroups = "/sys/fs/cgroup"

// killedForMemory reports whether the kernel ended something of the control group that a process is in for its memory.
func killedForMemory(pid int) bool {
	groups, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		file := ""
		switch {
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			file = filepath.Join(controlGroups, "memory", parts[2], "memory.oom_control")
		case parts[0] == "0":
			file = filepath.Join(controlGroups, parts[2], "memory.events")
		}
		counts, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(counts)) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" && f[1] != "0" {
				return true
			}
		}
	}
	return false
}

// Usage implements agentcli.Meter: memory, processor and processes are the engine's figures; what runs at the moment is
// seen from this machine.
func (p *process) Usage(ctx context.Context) (agentcli.Usage, error) {
	answer, err := p.launcher.engine.ContainerStatsOneShot(ctx, p.handle.Container)
	if err != nil {
		return agentcli.Usage{}, p.launcher.engine.failed("measure the container", err)
	}
	defer func() { _ = answer.Body.Close() }()
	var stats container.StatsResponse
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&stats); err != nil {
		return agentcli.Usage{}, p.launcher.engine.failed("measure the container", err)
	}
	u := agentcli.Usage{
		CPU: time.Duration(stats.CPUStats.CPUUsage.TotalUsage), MemoryBytes: memoryOf(&stats.MemoryStats),
		MemoryLimitBytes: int64(stats.MemoryStats.Limit), PIDs: int(stats.PidsStats.Current),
	}
	u.Running = p.running()
	u.OutOfMemory = p.outOfMemory(ctx)
	return u, nil
}

// memoryOf returns the memory of a container in bytes, without files that the kernel would drop.
func memoryOf(m *container.MemoryStats) int64 {
	used := m.Usage
	for _, name := range []string{"total_inactive_file", "inactive_file"} { // of cgroups 1 and 2
		if cached, ok := m.Stats[name]; ok {
			if cached < used {
				used -= cached
			}
			break
		}
	}
	return int64(used)
}

// Foreground implements agentcli.Foregrounder, where the agent's processes can be seen from this machine.
func (p *process) Foreground(context.Context) (int, error) {
	h := p.handle
	info, err := proc.Stat(h.Command.PID)
	if h.Command.PID == 0 || h.Boot != p.launcher.bootID || err != nil || info.Start != h.Command.Start {
		return 0, nil
	}
	return max(0, info.Foreground), nil
}

// running counts the processes in the foreground of the agent's terminal that run now, where they can be seen.
func (p *process) running() int {
	h := p.handle
	info, err := proc.Stat(h.Command.PID)
	if h.Command.PID == 0 || h.Boot != p.launcher.bootID || err != nil || info.Start != h.Command.Start {
		return 0
	}
	tree, err := proc.Descendants(h.Command.PID)
	if err != nil {
		return 0
	}
	n := 0
	for _, one := range append(tree, info) {
		if one.Runs() && one.Group == one.Foreground {
			n++
		}
	}
	return n
}

// processesOf returns a holder, by its pid on this machine, and the command that it has started, which is the first child that
// it had; zero where that is not seen.
func processesOf(pid int) (holder, command proc.ID) {
	info, err := proc.Stat(pid)
	if err != nil {
		return holder, command
	}
	holder = info.ID
	tree, err := proc.Descendants(pid)
	if err != nil {
		return holder, command
	}
	for _, one := range tree {
		if one.Parent == pid && (command.PID == 0 || one.Start < command.Start || one.Start == command.Start && one.PID < command.PID) {
			command = one.ID
		}
	}
	return holder, command
}
