package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// bundle makes one file of all that a machine without a network needs: the packages of an architecture, documents, what
// installs them, and the images of agents where there are some. Its checksums are over everything in it.
func (b *builder) bundle(ctx context.Context, arch string) (err error) {
	name := "wardroom-" + b.version + "-" + arch + "-offline"
	dir := filepath.Join(b.stage, name)
	packages, err := os.ReadDir(b.out)
	if err != nil {
		return err
	}
	rpmArch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
	links := map[string]string{"install.sh": filepath.Join(b.root, "packaging", "install.sh")} // what lies where
	for _, entry := range packages {
		for _, suffix := range []string{"_" + arch + ".deb", "." + rpmArch + ".rpm", "_all.deb", ".noarch.rpm", ".whl"} {
			if strings.HasSuffix(entry.Name(), suffix) {
				links["packages/"+entry.Name()] = filepath.Join(b.out, entry.Name())
			}
		}
	}
	documents, err := filepath.Glob(filepath.Join(b.root, "docs", "*.md"))
	if err != nil {
		return err
	}
	for _, path := range append(documents, filepath.Join(b.root, "README.md"), filepath.Join(b.root, "LICENSE"), filepath.Join(b.root, "NOTICE")) {
		at := filepath.Base(path)
		if filepath.Ext(path) == ".md" && filepath.Dir(path) != b.root {
			at = "docs/" + at
		}
		links[at] = path
	}
	if b.images != "" {
		links["images.tar"] = b.images
	}
	for at, from := range links {
		if err := link(from, filepath.Join(dir, at)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "ARCH"), []byte(arch+"\n"), 0o644); err != nil {
		return err
	}
	if err := b.sums(ctx, dir); err != nil {
		return err
	}
	return b.archive(dir, filepath.Join(b.out, name+".tar"))
}

// link makes a file of another without copying it, where that is possible.
func link(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Link(from, to); err == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read from
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// archive writes a directory as a tar with the time of the commit and nothing of the machine.
func (b *builder) archive(dir, to string) error {
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	out := tar.NewWriter(file)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		at, err := filepath.Rel(filepath.Dir(dir), path)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: filepath.ToSlash(at), Mode: 0o644, Size: info.Size(), ModTime: b.epoch, Format: tar.FormatPAX}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		return errors.Join(err, in.Close())
	})
	if err = errors.Join(err, out.Close(), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	return nil
}
