package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const sdkModule = "github.com/wardroom/wardroom"

// exportSDK writes the sdk alone to a new directory: its packages without their tests, the licence, and a go.mod
// that requires what they import and nothing else. It needs no network once the modules are in the cache.
func exportSDK(ctx context.Context, root, dir string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./sdk/...")
	list.Dir = root
	var stderr bytes.Buffer
	list.Stderr = &stderr
	modules, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the sdk's modules: %w\n%s", err, stderr.Bytes())
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	if err := copyTree(filepath.Join(root, "sdk"), filepath.Join(dir, "sdk"), exported); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), trim(mod, strings.Fields(string(modules))), 0o644); err != nil {
		return err
	}
	for _, name := range []string{"go.sum", "LICENSE", "NOTICE"} {
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// exported tells whether a file of the sdk goes along.
func exported(path string, entry fs.DirEntry) bool {
	return entry.Name() != "testdata" && !strings.HasSuffix(path, "_test.go")
}

// trim leaves the requirements of some modules in a go.mod. It drops what a main module says to itself, such as
// tools and exclusions: they count for nobody who requires it.
func trim(mod []byte, modules []string) []byte {
	var out bytes.Buffer
	block := ""
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "//"):
		case block == "" && (fields[0] == "module" || fields[0] == "go"):
			out.WriteString(line + "\n")
		case block == "" && len(fields) == 2 && fields[1] == "(":
			block = fields[0]
		case fields[0] == ")":
			block = ""
		case block == "require" && slices.Contains(modules, fields[0]):
			out.WriteString("require " + fields[0] + " " + fields[1] + "\n")
		case block == "" && fields[0] == "require" && len(fields) >= 3 && slices.Contains(modules, fields[1]):
			out.WriteString("require " + fields[1] + " " + fields[2] + "\n")
		}
	}
	return out.Bytes()
}

// copyTree copies the plain files that take wants.
func copyTree(from, to string, take func(path string, entry fs.DirEntry) bool) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case rel != "." && !take(path, entry) && entry.IsDir():
			return fs.SkipDir
		case rel != "." && !take(path, entry):
			return nil
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		return copyFile(path, filepath.Join(to, rel))
	})
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}
