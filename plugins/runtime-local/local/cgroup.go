package local

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Controllers that limit agents.
const (
	controlMemory = "memory"
	controlCPU    = "cpu"
	controlPIDs   = "pids"
)

var controllers = []string{controlMemory, controlCPU, controlPIDs}

// period is the time over which a share of the processor is counted, in microseconds.
const period = 100_000

// cgroups are the places where groups for agents can be made. The zero value has none.
type cgroups struct {
	name    string               // of the directory that holds them, in each hierarchy
	unified string               // directory in the unified hierarchy (version 2) that agents' groups go into
	enabled map[string]bool      // controllers of the unified hierarchy that they have
	old     map[string]hierarchy // by controller: hierarchies of version 1
}

// hierarchy is one of version 1.
type hierarchy struct {
	home string // where this process is
	dir  string // where agents' groups go
}

// cgroup is the group of one agent, in up to one hierarchy for each controller.
type cgroup struct {
	unified string
	joins   []string
	homes   []string
}

func (g cgroup) dirs() []string {
	if g.unified == "" {
		return g.joins
	}
	return append([]string{g.unified}, g.joins...)
}

func (g cgroup) remove() { removeGroups(g.dirs()) }

// findCgroups tries what this process may do. It goes into groups below its own, so that what confines the
// service confines its agents.
func findCgroups(name string) cgroups {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return cgroups{}
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return cgroups{}
	}
	unified, old := locate(string(mounts), string(own))
	c := cgroups{name: name, enabled: map[string]bool{}, old: map[string]hierarchy{}}
	if unified != "" {
		c.openUnified(unified)
	}
	for _, controller := range controllers {
		home, ok := old[controller]
		if !ok || c.enabled[controller] {
			continue
		}
		if unix.Access(home, unix.W_OK) == nil && unix.Access(filepath.Join(home, "cgroup.procs"), unix.W_OK) == nil {
			c.old[controller] = hierarchy{home: home, dir: filepath.Join(home, name)}
		}
	}
	return c
}

// openUnified finds a directory for groups. A group that has processes cannot give controllers to groups below
// it, so a service whose manager puts it into a subgroup of what is delegated to it uses the group above.
func (c *cgroups) openUnified(own string) {
	for _, base := range []string{own, filepath.Dir(own)} {
		dir := filepath.Join(base, c.name)
		if !probe(dir) {
			return
		}
		c.unified = cmp.Or(c.unified, dir)
		for _, controller := range controllers {
			// Each by itself: one that is missing must not keep the others away.
			_ = os.WriteFile(filepath.Join(base, "cgroup.subtree_control"), []byte("+"+controller), 0)
			_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0)
		}
		enabled := strings.Fields(readText(filepath.Join(dir, "cgroup.subtree_control")))
		if len(enabled) > 0 {
			if c.unified != dir {
				_ = os.Remove(c.unified)
				c.unified = dir
			}
			for _, controller := range enabled {
				c.enabled[controller] = true
			}
			return
		}
		if c.unified != dir {
			_ = os.Remove(dir)
		}
		if !strings.HasPrefix(filepath.Dir(own), "/sys/fs/cgroup/") {
			return
		}
	}
}

// keepUnified makes the directory for groups again when it is gone: a process before this one, which was slow to end,
// removes it as its own.
func (c cgroups) keepUnified() error {
	if err := os.Mkdir(c.unified, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	for controller := range c.enabled {
		// One that is refused is missed where a limit needs it.
		_ = os.WriteFile(filepath.Join(c.unified, "cgroup.subtree_control"), []byte("+"+controller), 0)
	}
	return nil
}

// probe makes the directory and reports whether groups can be made in it.
func probe(dir string) bool {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return false
	}
	return unix.Access(dir, unix.W_OK) == nil && unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil
}

// close removes the directories that hold agents' groups, as long as no agent has one.
func (c cgroups) close() {
	if c.unified != "" {
		_ = os.Remove(c.unified)
	}
	for _, h := range c.old {
		_ = os.Remove(h.dir)
	}
}

// enforces reports which limits hold.
func (c cgroups) enforces() (memory, cpu, pids bool) {
	can := func(controller string) bool {
		_, old := c.old[controller]
		return old || c.enabled[controller]
	}
	return can(controlMemory), can(controlCPU), can(controlPIDs)
}

// check refuses limits that would not hold.
func (c cgroups) check(limits runtime.Limits) error {
	memory, cpu, pids := c.enforces()
	for _, limit := range []struct {
		field  string
		wanted bool
		can    bool
	}{
		{"limits.memoryBytes", limits.MemoryBytes != 0, memory}, {"limits.cpu", limits.CPU != 0, cpu}, {"limits.pids", limits.PIDs != 0, pids},
	} {
		if limit.wanted && !limit.can {
			return &runtime.Error{
				Code: runtime.CodeInvalidSpec, Field: limit.field, Message: "this machine gives the runtime no cgroup that could hold the agent to it",
				Hint: "delegate cgroups to the service (Delegate=yes), or leave the limit out",
			}
		}
	}
	return nil
}

// limits are those of a spec, or the runtime's own, as far as they can be held.
func (l *Launcher) limits(spec *runtime.Spec) runtime.Limits {
	limits, own := spec.Limits, l.opts.Limits
	memory, cpu, pids := l.cgroups.enforces()
	if limits.MemoryBytes == 0 && memory {
		limits.MemoryBytes = own.MemoryBytes
	}
	if limits.CPU == 0 && cpu {
		limits.CPU = own.CPU
	}
	if limits.PIDs == 0 && pids {
		limits.PIDs = own.PIDs
	}
	return limits
}

// make makes the group of an agent and sets its limits.
func (c cgroups) make(id string, limits runtime.Limits) (cgroup, error) {
	if err := c.check(limits); err != nil {
		return cgroup{}, err
	}
	var g cgroup
	fail := func(err error) (cgroup, error) {
		g.remove()
		return cgroup{}, runtime.Errorf(runtime.CodeSpawnFailed, "the agent's cgroup: %v", err)
	}
	if c.unified != "" {
		if err := c.keepUnified(); err != nil {
			return fail(err)
		}
		dir := filepath.Join(c.unified, id)
		if err := fresh(dir); err != nil {
			return fail(err)
		}
		g.unified = dir
	}
	for _, controller := range controllers {
		settings := settingsOf(controller, limits, c.enabled[controller])
		if len(settings) == 0 {
			continue
		}
		dir := g.unified
		if !c.enabled[controller] {
			h := c.old[controller]
			if err := os.Mkdir(h.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fail(err)
			}
			dir = filepath.Join(h.dir, id)
			if err := fresh(dir); err != nil {
				return fail(err)
			}
			g.joins, g.homes = append(g.joins, dir), append(g.homes, h.home)
		}
		for _, s := range settings {
			if err := os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0); err != nil && !s.optional {
				return fail(err)
			}
		}
	}
	return g, nil
}

type setting struct {
	file, value string
	optional    bool // not every kernel has it
}

// settingsOf are the files that hold an agent to its limits.
func settingsOf(controller string, limits runtime.Limits, unified bool) []setting {
	switch {
	case controller == controlMemory && limits.MemoryBytes > 0:
		value := strconv.FormatInt(limits.MemoryBytes, 10)
		if unified {
			return []setting{{"memory.max", value, false}, {"memory.swap.max", "0", true}}
		}
		return []setting{{"memory.limit_in_bytes", value, false}, {"memory.memsw.limit_in_bytes", value, true}}
	case controller == controlPIDs && limits.PIDs > 0:
		return []setting{{"pids.max", strconv.Itoa(limits.PIDs), false}}
	case controller == controlCPU && limits.CPU > 0:
		quota := strconv.Itoa(max(1000, int(limits.CPU*period))) // the kernel's least is 1 ms
		if unified {
			return []setting{{"cpu.max", quota + " " + strconv.Itoa(period), false}}
		}
		return []setting{{"cpu.cfs_period_us", strconv.Itoa(period), false}, {"cpu.cfs_quota_us", quota, false}}
	}
	return nil
}

// fresh makes a group without the counts of an earlier one.
func fresh(dir string) error {
	removeGroups([]string{dir})
	return os.Mkdir(dir, 0o755)
}

// below returns the groups that an agent, such as one that runs containers, made in a group.
func below(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, entry := range entries {
		if entry.IsDir() {
			dirs = append(dirs, filepath.Join(dir, entry.Name()))
		}
	}
	return dirs
}

// killGroups ends whatever is in the groups of an agent, and in those below.
func killGroups(dirs []string) {
	for _, dir := range dirs {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0); err == nil {
			continue
		}
		killGroups(below(dir))
		for _, field := range strings.Fields(readText(filepath.Join(dir, "cgroup.procs"))) {
			pid, err := strconv.Atoi(field)
			if err != nil || pid == os.Getpid() {
				continue
			}
			if info, err := proc.Stat(pid); err == nil {
				_ = proc.Signal(info.ID, unix.SIGKILL)
			}
		}
	}
}

// removeGroups removes groups that have no processes. The kernel takes a moment after the last one ended.
func removeGroups(dirs []string) {
	for _, dir := range dirs {
		for wait := time.Millisecond; wait < 200*time.Millisecond; wait *= 2 {
			if err := removeGroup(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			time.Sleep(wait)
		}
	}
}

// removeGroup removes a group, and before it those below.
func removeGroup(dir string) error {
	err := os.Remove(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, inner := range below(dir) {
		_ = removeGroup(inner) // then dir stays as well
	}
	return os.Remove(dir)
}

// outOfMemory reports whether the kernel ended a process of the groups because their limit was met.
func outOfMemory(dirs []string) bool {
	for _, dir := range dirs {
		for _, name := range []string{"memory.events", "memory.oom_control"} {
			for line := range strings.Lines(readText(filepath.Join(dir, name))) {
				if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" && f[1] != "0" {
					return true
				}
			}
		}
	}
	return false
}

// memoryLimit is the limit of the groups in bytes, or 0.
func memoryLimit(dirs []string) int64 {
	for _, dir := range dirs {
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			n, err := strconv.ParseInt(strings.TrimSpace(readText(filepath.Join(dir, name))), 10, 64)
			if err == nil && n < 1<<62 { // version 1 writes a huge number for none
				return n
			}
		}
	}
	return 0
}

func readText(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}
