package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// machine describes where the figures come from.
func machine() string {
	kib, _ := strconv.ParseInt(strings.TrimSuffix(testbed.Field("/proc/meminfo", "MemTotal"), " kB"), 10, 64) // 0: unknown
	return fmt.Sprintf("%d cores, %s, %.0f GiB, %s, load %s", runtime.NumCPU(), testbed.Field("/proc/cpuinfo", "model name"),
		float64(kib)/(1<<20), runtime.Version(), loadAverage())
}

func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:1], " ")
}

// memory returns a figure of a process, as testbed.Memory does, in MiB.
func memory(pid int, figure string) float64 { return mebibytes(testbed.Memory(pid, figure)) }

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// rss returns the resident memory of a process.
func rss(pid int) float64 { return memory(pid, "VmRSS") }

// anonymous returns the resident memory of a process without mapped files: pages of the store's files are the system's
// cache, and go when somebody needs the room.
func anonymous(pid int) float64 { return memory(pid, "RssAnon") }

// private returns the memory of a process that would be free without it.
func private(pid int) float64 { return memory(pid, "Private_Clean") + memory(pid, "Private_Dirty") }

// onDisk returns what a tree takes of the disk, in MiB.
func onDisk(path string) (float64, error) {
	n, err := testbed.DiskUse(path, nil)
	return mebibytes(n), err
}
