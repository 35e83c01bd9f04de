package keeper

import (
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// usage prints what the container that this process is in has used, as its control groups tell.
func usage(out io.Writer) int { return codeOf(wire.Write(out, measure("/sys/fs/cgroup"))) }

// measure reads the control groups of a container below root, where the container sees its own.
func measure(root string) wire.Usage {
	var u wire.Usage
	if _, err := os.Stat(root + "/cgroup.controllers"); err == nil {
		u.CPU = field(root+"/cpu.stat", "usage_usec") * 1000
		u.Memory = number(root+"/memory.current") - min(number(root+"/memory.current"), field(root+"/memory.stat", "inactive_file"))
		u.Limit = number(root + "/memory.max")
		u.Kills = field(root+"/memory.events", "oom_kill")
		u.PIDs = uint32(number(root + "/pids.current"))
	} else {
		memory := root + "/memory/memory."
		used := number(memory + "usage_in_bytes")
		u.CPU = number(root + "/cpuacct/cpuacct.usage")
		u.Memory = used - min(used, field(memory+"stat", "total_inactive_file"))
		u.Limit = number(memory + "limit_in_bytes")
		u.Kills = field(memory+"oom_control", "oom_kill")
		u.PIDs = uint32(number(root + "/pids/pids.current"))
	}
	if u.Limit >= 1<<62 {
		u.Limit = 0
	}
	all, err := proc.All()
	if err != nil {
		return u
	}
	for _, one := range all {
		if one.Runs() && one.PID != os.Getpid() && one.Foreground > 0 && one.Group == one.Foreground {
			u.Running++
		}
	}
	return u
}

// number reads a file that holds one; 0 for what is none, such as max.
func number(path string) uint64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	return n
}

// field reads the number of a line "NAME NUMBER" of a file.
func field(path, name string) uint64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseUint(f[1], 10, 64)
			return n
		}
	}
	return 0
}
