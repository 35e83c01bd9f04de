package clis

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Env names the environment variable with the folder that install.sh was given.
const Env = "WARDROOM_CLIS"

// Names are the command lines that there are recipes for.
func Names() []string { return []string{"claude", "codex", "gemini"} }

// Find returns the absolute path of a command line that can be run, with ok false when there is none. It looks
// at the folder in WARDROOM_CLIS, then at .cache/clis of the repository around the working directory, then at
// PATH. When WARDROOM_CLIS is set, only that folder counts, so that a test never runs another version by chance.
//
// It prefers native executables over the scripts around them, which keep a second process alive.
func Find(name string) (path string, ok bool) {
	if dir := os.Getenv(Env); dir != "" {
		return In(dir, name)
	}
	if root, found := repository(); found {
		if path, ok := In(filepath.Join(root, ".cache", "clis"), name); ok {
			return path, true
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", false
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", false
	}
	// Of an installation by npm, path is a link into the package, which lies beside its native ones.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		for dir := filepath.Dir(target); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if filepath.Base(dir) == "node_modules" {
				if found, ok := native(dir, name); ok {
					return found, true
				}
			}
		}
	}
	return path, true
}

// In looks for a command line in one folder: one that install.sh filled, or any with node_modules.
func In(dir, name string) (path string, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	modules := filepath.Join(dir, "node_modules")
	if path, ok := native(modules, name); ok {
		return path, true
	}
	for _, candidate := range []string{filepath.Join(dir, "bin", name), filepath.Join(modules, ".bin", name)} {
		if executable(candidate) {
			return candidate, true
		}
	}
	return "", false
}

// native finds the executable that a package brings for this machine; gemini has none.
func native(modules, name string) (path string, ok bool) {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	platform := runtime.GOOS + "-" + arch
	var patterns []string
	switch name {
	case "claude":
		// npm installs the package for the C library of the machine only.
		for _, suffix := range []string{"", "-musl"} {
			patterns = append(patterns, filepath.Join(modules, "@anthropic-ai", "claude-code-"+platform+suffix, "claude"))
		}
	case "codex":
		packaged := filepath.Join("codex-"+platform, "vendor", "*", "bin", "codex")
		patterns = []string{
			filepath.Join(modules, "@openai", packaged),
			filepath.Join(modules, "@openai", "codex", "node_modules", "@openai", packaged),
		}
	}
	for _, pattern := range patterns {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue // a folder with brackets in its name
		}
		for _, match := range matches {
			if executable(match) {
				return match, true
			}
		}
	}
	return "", false
}

// repository is the folder with go.mod, at or above the working directory.
func repository() (dir string, ok bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
