package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// machine describes where the figures come from.
func machine() string {
	return fmt.Sprintf("%d cores, %s, %.0f GiB, %s, load %s", runtime.NumCPU(), field("/proc/cpuinfo", "model name"),
		float64(kib(field("/proc/meminfo", "MemTotal")))/(1<<20), runtime.Version(), loadAverage())
}

// field returns the first value of a "key : value" file.
func field(path, key string) string {
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

func kib(text string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 10, 64)
	return n
}

func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:1], " ")
}

// rss returns the resident memory of a process in MiB.
func rss(pid int) float64 {
	return float64(kib(field(fmt.Sprintf("/proc/%d/status", pid), "VmRSS"))) / 1024
}

// peak returns the most resident memory that a process ever had, in MiB.
func peak(pid int) float64 {
	return float64(kib(field(fmt.Sprintf("/proc/%d/status", pid), "VmHWM"))) / 1024
}

// anonymous returns the resident memory of a process without mapped files, in MiB: pages of the store's
// files are the system's cache, and go when somebody needs the room.
func anonymous(pid int) float64 {
	return float64(kib(field(fmt.Sprintf("/proc/%d/status", pid), "RssAnon"))) / 1024
}

// cpuTime returns the CPU time, user and system, that a process has used.
func cpuTime(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	const ticksPerSecond = 100 // USER_HZ of Linux on every architecture Go runs on
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticksPerSecond
}
