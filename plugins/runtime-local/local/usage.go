package local

import (
	"os"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder/proc"
)

// usage measures what a holder holds, by its process tree; the limits come from the cgroups.
func usage(h handle) (agentcli.Usage, error) {
	info, err := proc.Stat(h.Holder.PID)
	if err != nil || info.Start != h.Holder.Start {
		return agentcli.Usage{}, agentcli.ErrGone
	}
	tree, err := proc.Descendants(h.Holder.PID)
	if err != nil {
		return agentcli.Usage{}, err
	}
	u := agentcli.Usage{CPU: info.ReapedCPU, PIDs: len(tree)}
	page := int64(os.Getpagesize())
	for _, p := range tree {
		u.CPU += p.CPU + p.ReapedCPU
		u.MemoryBytes += p.MemoryPages * page
		if p.Runs() && p.Group == p.Foreground {
			u.Running++
		}
	}
	u.MemoryLimitBytes = memoryLimit(h.Groups)
	u.OutOfMemory = outOfMemory(h.Groups)
	return u, nil
}
