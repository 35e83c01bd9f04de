package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const sdkModule = "github.com/wardroom/wardroom"

// modulesDir is where an exported sdk has the modules that it requires.
const modulesDir = "modules"

// exportSDK writes the sdk to a new directory, as it is built without a network: its packages without their tests, the
// guide for authors, the licence, a go.mod that requires what they import and nothing else, and the packages of those
// modules, in whose place go.mod puts them. It needs no network itself once the modules are in the cache.
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
	for _, name := range []string{"go.sum", "LICENSE", "NOTICE", "docs/plugins.md"} {
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "use.sh"), []byte(useScript), 0o755); err != nil {
		return err
	}
	return exportModules(ctx, dir)
}

// useScript makes a module use the sdk that it lies beside.
const useScript = `#!/bin/sh
# Makes the Go module in the working directory use this directory for the sdk and for the modules that it requires:
# sh use.sh. Run it again after an upgrade of this directory.
set -e
[ -f go.mod ] || { echo "there is no go.mod here; run it in the directory of a module" >&2; exit 1; }
sdk=$(dirname "$0")
case $sdk in /* | ./* | ../*) ;; *) sdk=./$sdk ;; esac
set -- "-replace=` + sdkModule + `=$sdk"
while read -r word from _ to; do
	if [ "$word" = replace ]; then set -- "$@" "-replace=$from=$sdk/${to#./}"; fi
done <"$sdk/go.mod"
exec go mod edit "$@"
`

// exportModules copies the packages that the sdk imports from other modules, each module below modulesDir with a go.mod
// of its own, and has the sdk's go.mod take them from there. Their files are as they were published, but for go.mod: it
// requires nothing, as what they import is in the sdk's.
func exportModules(ctx context.Context, dir string) error {
	vendor := exec.CommandContext(ctx, "go", "mod", "vendor", "-o", modulesDir)
	vendor.Dir, vendor.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := vendor.CombinedOutput(); err != nil {
		return fmt.Errorf("copy the modules of the sdk: %w\n%s", err, out)
	}
	list := filepath.Join(dir, modulesDir, "modules.txt")
	data, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	mod = append(mod, '\n')
	versions, path := map[string]string{}, ""
	for line := range strings.Lines(string(data)) {
		switch fields := strings.Fields(line); {
		case len(fields) == 3 && fields[0] == "#":
			path = fields[1]
			versions[path] = ""
		case len(fields) >= 3 && fields[0] == "##" && fields[len(fields)-2] == "go":
			versions[path] = "\ngo " + fields[len(fields)-1] + "\n" // of the language
		}
	}
	for _, path := range slices.Sorted(maps.Keys(versions)) {
		mod = fmt.Appendf(mod, "replace %s => ./%s/%s\n", path, modulesDir, path)
		stub := "module " + path + "\n" + versions[path]
		if err := os.WriteFile(filepath.Join(dir, modulesDir, path, "go.mod"), []byte(stub), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o644), os.Remove(list))
}

// packSDK writes the exported sdk as an archive, the same bytes for the same sdk: it becomes a part of the product.
func packSDK(ctx context.Context, root, file string) error {
	dir, err := os.MkdirTemp("", "sdk-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a copy
	if err := exportSDK(ctx, root, dir); err != nil {
		return err
	}
	var packed bytes.Buffer
	zipped, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	tarred := tar.NewWriter(zipped)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := tarred.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = tarred.Write(data)
		return err
	})
	if err = errors.Join(err, tarred.Close(), zipped.Close()); err != nil {
		return err
	}
	if before, err := os.ReadFile(file); err == nil && bytes.Equal(before, packed.Bytes()) {
		return nil // it stays as old as it is, and so does what was built with it
	}
	if err := os.WriteFile(file+".new", packed.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// exported reports whether a file of the sdk goes along.
func exported(path string, entry fs.DirEntry) bool {
	return entry.Name() != "testdata" && !strings.HasSuffix(path, "_test.go")
}

// trim leaves the requirements of some modules in a go.mod. It drops what a main module says to itself, such as
// tools and exclusions: they do not count for modules that require it.
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
