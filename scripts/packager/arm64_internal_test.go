package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestArm64Runs: the program of the package for arm64 needs no library, and runs as an emulated processor sees it.
func TestArm64Runs(t *testing.T) {
	emulator := ""
	for _, name := range []string{"qemu-aarch64-static", "qemu-aarch64"} {
		if path, err := exec.LookPath(name); err == nil {
			emulator = path
		}
	}
	if emulator == "" {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatal("there is no qemu-aarch64, and WARDROOM_REQUIRE_REAL is set: apt install qemu-user-static")
		}
		t.Skip("there is no qemu-aarch64: apt install qemu-user-static")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{options: options{root: root, version: "1.2.3", tags: "nomsgpack", only: []string{"wardroom"}}, stage: t.TempDir()}
	if err := b.build(t.Context(), "arm64"); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(b.binaries("arm64"), "wardroom")
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	libraries, err := file.ImportedLibraries()
	if file.Machine != elf.EM_AARCH64 || err != nil || len(libraries) > 0 {
		t.Fatalf("machine %s, libraries %v, %v", file.Machine, libraries, err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"version"}, "1.2.3"},
		{[]string{"config", "validate", "--config", filepath.Join(root, "configs", "packaged.yaml")}, ""},
	} {
		out, err := exec.CommandContext(t.Context(), emulator, append([]string{binary}, c.args...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("wardroom %s: %v\n%s", strings.Join(c.args, " "), err, out)
		}
	}
}
