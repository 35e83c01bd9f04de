package local

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestLocate(t *testing.T) {
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	const hybrid = "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
		"32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"33 23 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	const container = "32 23 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
	for _, test := range []struct {
		name, mounts, own, unified string
		old                        map[string]string
	}{
		{"Unified", v2, "0::/system.slice/wardroom.service\n", "/sys/fs/cgroup/system.slice/wardroom.service", nil},
		{"Hybrid", hybrid, "5:memory:/a\n4:cpu,cpuacct:/b\n1:name=systemd:/c\n0::/c\n", "/sys/fs/cgroup/unified/c",
			map[string]string{"memory": "/sys/fs/cgroup/memory/a", "cpu": "/sys/fs/cgroup/cpu,cpuacct/b"}},
		{"Container", container, "5:memory:/docker/abc\n0::/\n", "", map[string]string{"memory": "/sys/fs/cgroup/memory"}},
		{"Elsewhere", container, "5:memory:/other\n", "", nil},
		{"Rubbish", "x\n - \n", "x\n:\n", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			unified, old := locate(test.mounts, test.own)
			if unified != test.unified || !maps.Equal(old, test.old) {
				t.Errorf("unified %q, old %v, want %q, %v", unified, old, test.unified, test.old)
			}
		})
	}
}

func FuzzLocate(f *testing.F) {
	f.Add("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/a\n")
	f.Fuzz(func(_ *testing.T, mounts, own string) { locate(mounts, own) })
}

// TestSettings makes a group in a plain directory, where the kernel's files are files.
func TestSettings(t *testing.T) {
	limits := runtime.Limits{MemoryBytes: 1 << 30, CPU: 1.5, PIDs: 50}
	all := map[string]bool{controlMemory: true, controlCPU: true, controlPIDs: true}
	unified := cgroups{unified: t.TempDir(), enabled: all}
	g, err := unified.make("a", limits)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"memory.max": "1073741824", "cpu.max": "150000 100000", "pids.max": "50"} {
		if got := readText(filepath.Join(g.unified, file)); got != want {
			t.Errorf("%s holds %q, want %q", file, got, want)
		}
	}
	// Another process that ends late takes the directory away.
	if err := os.RemoveAll(unified.unified); err != nil {
		t.Fatal(err)
	}
	if g, err = unified.make("b", limits); err != nil || readText(filepath.Join(g.unified, "pids.max")) != "50" {
		t.Errorf("a group in a directory that was gone: %+v, %v", g, err)
	}
	base := t.TempDir()
	old := cgroups{old: map[string]hierarchy{controlPIDs: {home: base, dir: filepath.Join(base, "w")}}}
	g, err = old.make("a", runtime.Limits{PIDs: 7})
	if err != nil || !slices.Equal(g.joins, []string{filepath.Join(base, "w/a")}) || !slices.Equal(g.homes, []string{base}) {
		t.Fatalf("group %+v, error %v", g, err)
	}
	if got := readText(filepath.Join(g.joins[0], "pids.max")); got != "7" {
		t.Errorf("pids.max holds %q", got)
	}
	if _, err := old.make("b", limits); runtime.ErrorCode(err) != runtime.CodeInvalidSpec {
		t.Errorf("limits that cannot be held: %v, want INVALID_SPEC", err)
	}
	if _, err := os.Stat(filepath.Join(base, "w/b")); !os.IsNotExist(err) {
		t.Errorf("a refused group is left: %v", err)
	}
}

// TestNestedGroups ends and removes what an agent made in its group. Directories stand for groups.
func TestNestedGroups(t *testing.T) {
	c := cgroups{unified: t.TempDir()}
	g, err := c.make("a", runtime.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(g.unified, "tools", "one")
	command := exec.Command("sleep", "60")
	if err := errors.Join(os.MkdirAll(inner, 0o700), command.Start()); err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(inner, "cgroup.procs")}
	if err := os.WriteFile(files[0], []byte(strconv.Itoa(command.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{g.unified, filepath.Dir(inner), inner} {
		kill := filepath.Join(dir, "cgroup.kill") // that cannot be written, as of a kernel that has none
		if err := os.Symlink("none/none", kill); err != nil {
			t.Fatal(err)
		}
		files = append(files, kill)
	}
	killGroups(g.dirs())
	if err := command.Wait(); err == nil || command.ProcessState.Exited() {
		t.Errorf("the process ended with %v, want killed", err)
	}
	for _, file := range files { // the kernel's own are in no way
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	g.remove()
	if _, err := c.make("a", runtime.Limits{}); err != nil {
		t.Errorf("the agent cannot be started again: %v", err)
	}
}
