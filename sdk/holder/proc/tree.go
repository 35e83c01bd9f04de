package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// All returns every process that can be read now.
func All() ([]Info, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return nil, err
	}
	list := make([]Info, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if info, err := Stat(pid); err == nil {
			list = append(list, info)
		}
	}
	return list, nil
}

// Descendants returns the children of pid, their children and so on, parents first. Processes that end or move
// to another parent meanwhile may be missed: who kills asks again until there are none.
func Descendants(pid int) ([]Info, error) {
	if list, ok := descend(pid); ok {
		return list, nil
	}
	all, err := All()
	if err != nil {
		return nil, err
	}
	var list []Info
	parents := []int{pid}
	for len(parents) > 0 {
		var next []int
		for _, info := range all {
			for _, parent := range parents {
				if info.Parent == parent && info.PID != pid {
					list = append(list, info)
					next = append(next, info.PID)
				}
			}
		}
		parents = next
	}
	return list, nil
}

// descend asks the kernel for the children of each process; not every kernel can tell.
func descend(pid int) ([]Info, bool) {
	var list []Info
	queue := []int{pid}
	for i := 0; i < len(queue); i++ {
		children, ok := children(queue[i])
		if !ok && i == 0 {
			return nil, false
		}
		for _, child := range children {
			if info, err := Stat(child); err == nil {
				list = append(list, info)
				queue = append(queue, child)
			}
		}
	}
	return list, true
}

func children(pid int) ([]int, bool) {
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return nil, false
	}
	var list []int
	for _, task := range tasks {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + task.Name() + "/children")
		if err != nil {
			if os.IsNotExist(err) && task.Name() == strconv.Itoa(pid) {
				return nil, false
			}
			continue
		}
		for _, field := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(field); err == nil {
				list = append(list, child)
			}
		}
	}
	return list, true
}

// Marked returns the processes whose environment at their start holds NAME=value, as value tells, by value.
// Processes of other users are not looked at.
func Marked(name string) (map[string][]ID, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	found := make(map[string][]ID)
	for _, info := range all {
		if info.State == 'Z' || info.PID == os.Getpid() {
			continue
		}
		env, err := environ(info)
		if err != nil {
			continue
		}
		if value, ok := lookup(env, name); ok {
			found[value] = append(found[value], info.ID)
		}
	}
	return found, nil
}

// A process in the middle of an exec is asked again: so often where it has arguments, for so long where it has none.
const (
	execTries = 20
	execTime  = 100 * time.Millisecond
)

// environ reads the environment of a process at its start. In the middle of an exec the kernel shows none, neither
// of the old program nor of the new one, and for a part of that time no arguments either: a process that is asked
// then would seem to carry no mark, and live on where all that do are ended. Threads of the kernel never have an
// environment.
func environ(info Info) ([]byte, error) {
	dir := "/proc/" + strconv.Itoa(info.PID)
	wait := time.Millisecond
	for tries := 0; ; tries++ {
		env, err := os.ReadFile(dir + "/environ")
		if err != nil || len(env) > 0 || info.Kernel || tries == execTries || wait > execTime/2 {
			return env, err
		}
		if args, err := os.ReadFile(dir + "/cmdline"); err == nil && len(args) == 0 {
			time.Sleep(wait)
			wait *= 2
		}
	}
}

// lookup finds a variable in the bytes of /proc/PID/environ.
func lookup(env []byte, name string) (string, bool) {
	for len(env) > 0 {
		var entry []byte
		entry, env, _ = bytes.Cut(env, []byte{0})
		if key, value, ok := bytes.Cut(entry, []byte{'='}); ok && string(key) == name {
			return string(value), true
		}
	}
	return "", false
}
