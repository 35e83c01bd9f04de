package testbed

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/sdk/holder/proc"
)

// Memory returns a figure of a process in bytes, such as VmRSS, VmHWM (the peak) or RssAnon of /proc/PID/status, or Pss of
// smaps_rollup; 0 if the process has ended.
func Memory(pid int, figure string) int64 {
	for _, file := range []string{"status", "smaps_rollup"} {
		if kib, err := strconv.ParseInt(strings.TrimSuffix(Field(procFile(pid, file), figure), " kB"), 10, 64); err == nil {
			return kib << 10
		}
	}
	return 0
}

// Field returns the first value of a file of lines "key : value", and otherwise "unknown".
func Field(path, key string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

// CPUTime returns the CPU time, user and system, that a process has used; 0 if it has ended.
func CPUTime(pid int) time.Duration {
	info, err := proc.Stat(pid)
	if err != nil {
		return 0
	}
	return info.CPU
}

// Parent returns the parent of a process, or 0 if the process has ended.
func Parent(pid int) int {
	info, err := proc.Stat(pid)
	if err != nil {
		return 0
	}
	return info.Parent
}

// Running returns the processes whose program has that name and lies anywhere below one of the folders. A program that was
// replaced keeps its name.
func Running(name string, dirs ...string) ([]int, error) {
	all, err := proc.All()
	if err != nil {
		return nil, err
	}
	var found []int
	for _, p := range all {
		exe := Executable(p.PID)
		if filepath.Base(exe) != name {
			continue
		}
		for _, dir := range dirs {
			if strings.HasPrefix(exe, dir+"/") {
				found = append(found, p.PID)
				break
			}
		}
	}
	return found, nil
}

// Executable returns the path of a process's program, empty if it has ended.
func Executable(pid int) string {
	path, _ := os.Readlink(procFile(pid, "exe"))
	return strings.TrimSuffix(path, " (deleted)")
}

// agentMark is the variable by which processes of a managed agent are known.
const agentMark = "WARDROOM_AGENT_ID"

// OfAgents returns the processes of managed agents, whoever their parent is by now.
func OfAgents(ids ...string) ([]int, error) {
	marked, err := proc.Marked(agentMark)
	if err != nil {
		return nil, err
	}
	var found []int
	for _, id := range ids {
		for _, p := range marked[id] {
			found = append(found, p.PID)
		}
	}
	return found, nil
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// DiskUse returns what the files of a tree take of the disk, in bytes, without those whose name skip reports; skip may be
// nil. What goes away meanwhile does not count.
func DiskUse(path string, skip func(name string) bool) (total int64, err error) {
	gone := func(err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	err = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return gone(err)
		}
		if skip != nil && skip(entry.Name()) {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return gone(err)
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			total += stat.Blocks * 512
		}
		return nil
	})
	return total, err
}

// Quantile returns the value below which a share of sorted values lies, 1 the greatest; the zero value of none.
func Quantile[T any](sorted []T, share float64) (value T) {
	if len(sorted) > 0 {
		value = sorted[min(int(float64(len(sorted))*share), len(sorted)-1)]
	}
	return value
}
