package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// children returns the processes whose parent is pid.
func children(pid int) []int {
	var found []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, path := range stats {
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && parent(child) == pid {
			found = append(found, child)
		}
	}
	return found
}

// parent returns the parent of a process, or 0.
func parent(pid int) int {
	ppid, _ := strconv.Atoi(field(fmt.Sprintf("/proc/%d/status", pid), "PPid"))
	return ppid
}

// executable returns the path of a process's program. A file that was replaced keeps its name.
func executable(pid int) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return strings.TrimSuffix(path, " (deleted)")
}

// proportional returns the memory of a process in MiB, with its share of what it has in common with others.
func proportional(pid int) float64 {
	return float64(kib(field(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss"))) / 1024
}

// private returns the memory of a process in MiB that would be free without it.
func private(pid int) float64 {
	path := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	return float64(kib(field(path, "Private_Clean"))+kib(field(path, "Private_Dirty"))) / 1024
}
