package launchertest_test

import (
	"bytes"
	"path/filepath"
	"strconv"
)

// contains tells whether an environment holds a whole entry.
func contains(env []byte, entry string) bool {
	for part := range bytes.SplitSeq(env, []byte{0}) {
		if string(part) == entry {
			return true
		}
	}
	return false
}

// pidOf returns the process of a path such as /proc/7/environ.
func pidOf(path string) int {
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
	if err != nil {
		return -1 << 30 // no process has it
	}
	return pid
}
