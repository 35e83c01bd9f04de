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
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const module = "github.com/wardroom/wardroom"

// options are the flags.
type options struct {
	root, out, version, tags, nfpm, key, images string
	arches                                      []string
	only                                        []string // names of packages; empty: all
	keep, bundles                               bool
}

// builder makes the packages of one version.
type builder struct {
	options
	stage   string    // what packages are made of, a directory for each
	epoch   time.Time // of all files
	plugins []string
}

func run(ctx context.Context, o options) (err error) {
	b := &builder{options: o}
	for _, dir := range []*string{&b.root, &b.out} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	if b.stage, err = os.MkdirTemp("", "packages-"); err != nil {
		return err
	}
	if b.keep {
		fmt.Println("made in", b.stage)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(b.stage)) }()
	}
	if err := os.RemoveAll(b.out); err != nil {
		return err
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	for i, arch := range b.arches {
		if err := b.build(ctx, arch); err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		packages, err := b.layout(ctx, arch)
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		work, ctx := errgroup.WithContext(ctx)
		work.SetLimit(runtime.GOMAXPROCS(0)) // each compresses on a processor of its own
		for _, p := range packages {
			if p.arch == "all" && i > 0 {
				continue // it is there already
			}
			for _, format := range []string{"deb", "rpm"} {
				work.Go(func() error {
					if err := b.pack(ctx, p, format); err != nil {
						return fmt.Errorf("%s for %s as %s: %w", p.name, arch, format, err)
					}
					return nil
				})
			}
		}
		if err := work.Wait(); err != nil {
			return err
		}
	}
	if len(b.only) == 0 {
		if err := b.npm(b.out); err != nil {
			return fmt.Errorf("the library for TypeScript: %w", err)
		}
		if err := b.wheel(b.out); err != nil {
			return fmt.Errorf("the library for Python: %w", err)
		}
	}
	if b.bundles {
		for _, arch := range b.arches {
			if err := b.bundle(ctx, arch); err != nil {
				return fmt.Errorf("bundle for %s: %w", arch, err)
			}
		}
	}
	if err := b.sums(ctx, b.out); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(b.out, "SHA256SUMS"))
	fmt.Printf("%s", text)
	return err
}

// described is how git describe writes a commit after a tag.
var described = regexp.MustCompile(`^(.*)-(\d+)-g([0-9a-f]+)(-dirty)?$`)

// prepare finds version, time and plugins.
func (b *builder) prepare(ctx context.Context) error {
	if b.version == "" {
		data, err := os.ReadFile(filepath.Join(b.root, "VERSION"))
		if err != nil {
			return err
		}
		b.version = strings.TrimSpace(string(data))
	}
	if m := described.FindStringSubmatch(b.version); m != nil { // after the release, not before it as a pre-release would be
		b.version = m[1] + "+" + m[2] + ".g" + m[3]
	}
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := b.output(ctx, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return fmt.Errorf("the time of the commit (or set SOURCE_DATE_EPOCH): %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	b.epoch = time.Unix(seconds, 0).UTC()
	entries, err := filepath.Glob(filepath.Join(b.root, "plugins", "*", "main.go"))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := filepath.Base(filepath.Dir(entry)); name != "example" { // which is for authors to copy
			b.plugins = append(b.plugins, name)
		}
	}
	slices.Sort(b.plugins)
	return b.choose()
}

// choose leaves out the plugins of packages that are not asked for.
func (b *builder) choose() error {
	if len(b.only) == 0 {
		return nil
	}
	known := []string{"wardroom", "wardroom-sdk"}
	b.plugins = slices.DeleteFunc(b.plugins, func(plugin string) bool {
		name := "wardroom-" + groupOf(plugin)
		known = append(known, name)
		return !slices.Contains(b.only, name)
	})
	for _, name := range b.only {
		if !slices.Contains(known, name) {
			slices.Sort(known)
			return fmt.Errorf("-only: there is no package %q; there are %s", name, strings.Join(slices.Compact(known), ", "))
		}
	}
	return nil
}

// wanted reports whether a package is one of those to make.
func (b *builder) wanted(name string) bool { return len(b.only) == 0 || slices.Contains(b.only, name) }

// build compiles all programs for an architecture, and for this machine what has to run here.
func (b *builder) build(ctx context.Context, arch string) error {
	dir := b.binaries(arch)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	flags := fmt.Sprintf("-s -w -X %s/appliance/cmd.version=%s -X main.version=%s", module, b.version, b.version)
	compile := func(from, to string) error {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", b.tags, "-ldflags", flags, "-o", to, ".")
		cmd.Dir = filepath.Join(b.root, from)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		return runQuietly(cmd)
	}
	if b.wanted("wardroom") {
		if err := compile("appliance/cmd/wardroom", filepath.Join(dir, "wardroom")); err != nil {
			return err
		}
	}
	for _, name := range b.plugins {
		if err := compile(filepath.Join("plugins", name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) binaries(arch string) string { return filepath.Join(b.stage, "bin", arch) }

// output runs a program in the repository and returns what it printed.
func (b *builder) output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = b.root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, stderr.Bytes())
	}
	return out, nil
}

// runQuietly runs a program whose output is of interest only when it fails.
func runQuietly(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// stamp gives all files of a directory the time of the commit, links as well.
func (b *builder) stamp(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chtimes(path, b.epoch, b.epoch)
	})
}
