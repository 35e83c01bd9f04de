package testbed

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Names of the local runtime's binaries in the folder of plugins.
const (
	RuntimePlugin = "runtime-local"
	holder        = "holder"
)

// Built names the variable that tells rigs and tests where a product is that was built before, so that they do not build
// it again; its plugins lie in the folder plugins beside it.
const Built = "WARDROOM_BIN"

// Product returns the path of the binary to run: given, if it is not empty, or the one that was built before, or one that
// is built into dir. One with build tags cannot have been built before.
func Product(ctx context.Context, given, dir string, tags ...string) (string, error) {
	if given == "" && len(tags) == 0 {
		given = os.Getenv(Built)
	}
	if given == "" {
		return Build(ctx, dir, tags...)
	}
	if _, err := exec.LookPath(given); err != nil {
		return "", fmt.Errorf("%w; `make build` builds the product", err)
	}
	return filepath.Abs(given)
}

// Build builds the product of the module around the working directory into dir: the binary, which it returns, and in the
// folder plugins beside it the local runtime. tags are build tags of the binary. The flags are those of `make build`, so
// that the build cache serves both.
func Build(ctx context.Context, dir string, tags ...string) (string, error) {
	binary := filepath.Join(dir, "wardroom")
	for _, b := range [][2]string{
		{binary, "appliance/cmd/wardroom"},
		{filepath.Join(Plugins(binary), RuntimePlugin), "plugins/" + RuntimePlugin},
		{filepath.Join(Plugins(binary), holder), "plugins/" + holder},
	} {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", strings.Join(tags, ","), "-o", b[0], "github.com/wardroom/wardroom/"+b[1])
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the product: %w\n%s", err, text)
		}
	}
	return binary, nil
}

// BuildPlugin builds a plugin with a module of its own into the folder of plugins beside a binary, unless it is there.
func BuildPlugin(ctx context.Context, binary, name string) error {
	path := filepath.Join(Plugins(binary), name)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	at, err := moduleDir(ctx)
	if err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, ".")
	build.Dir, build.Env = filepath.Join(at, "plugins", name), append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, text)
	}
	return nil
}

// moduleDir returns the folder of the module around the working directory.
func moduleDir(ctx context.Context) (string, error) {
	at, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/wardroom/wardroom").Output()
	if err != nil {
		return "", fmt.Errorf("look for the module: %w", err)
	}
	return strings.TrimSpace(string(at)), nil
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

// LocalRuntime returns the configuration of a server beside whose binary the local runtime lies. more is what follows in
// the plugin's entry, such as ", env: {PATH: /usr/bin}".
func LocalRuntime(binary, more string) (string, error) {
	return Runtimes(binary, map[string]string{"local": more})
}

// Runtimes is LocalRuntime for several: by the name of each what follows in the entry of its plugin.
func Runtimes(binary string, more map[string]string) (string, error) {
	var plugins, runtimes []string
	for _, name := range slices.Sorted(maps.Keys(more)) {
		plugin := "runtime-" + name
		sum, err := Checksum(filepath.Join(Plugins(binary), plugin))
		if err != nil {
			return "", fmt.Errorf("%w; `make build` builds the plugins", err)
		}
		plugins = append(plugins, fmt.Sprintf("%s: {kind: runtime, sha256: %q%s}", plugin, sum, more[name]))
		runtimes = append(runtimes, fmt.Sprintf("%s: {plugin: %s}", name, plugin))
	}
	return fmt.Sprintf("plugins: {dir: %q, %s}\nruntimes: {%s}\n", Plugins(binary), strings.Join(plugins, ", "), strings.Join(runtimes, ", ")), nil
}
