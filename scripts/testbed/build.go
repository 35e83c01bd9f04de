package testbed

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Names of the local runtime's binaries in the folder of plugins.
const (
	RuntimePlugin = "runtime-local"
	holder        = "holder"
)

// Build builds the product from the module in the working directory into dir: the binary, which it returns, and in
// the folder plugins beside it the local runtime. tags are build tags of the binary.
func Build(ctx context.Context, dir string, tags ...string) (string, error) {
	binary := filepath.Join(dir, "wardroom")
	for _, b := range [][2]string{
		{binary, "appliance/cmd/wardroom"},
		{filepath.Join(Plugins(binary), RuntimePlugin), "plugins/" + RuntimePlugin},
		{filepath.Join(Plugins(binary), holder), "plugins/" + holder},
	} {
		build := exec.CommandContext(ctx, "go", "build", "-tags", strings.Join(tags, ","), "-o", b[0], "github.com/wardroom/wardroom/"+b[1])
		if text, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the product: %w\n%s", err, text)
		}
	}
	return binary, nil
}

// Plugins returns the folder of plugins beside a binary.
func Plugins(binary string) string { return filepath.Join(filepath.Dir(binary), "plugins") }

// Checksum returns the SHA-256 of a file in hexadecimal digits, as the configuration of a plugin has it.
func Checksum(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}
