package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maintainer is the address in the packages.
const maintainer = "wardroom@localhost.localdomain"

// content is one entry of a package, as nfpm wants it.
type content struct {
	Src      string    `yaml:"src,omitempty"`
	Dst      string    `yaml:"dst"`
	Type     string    `yaml:"type,omitempty"`
	FileInfo *fileInfo `yaml:"file_info,omitempty"`
}

type fileInfo struct {
	Mode  os.FileMode `yaml:"mode,omitempty"`
	Owner string      `yaml:"owner"`
	Group string      `yaml:"group"`
	MTime string      `yaml:"mtime"`
}

// pack has nfpm write a package file.
func (b *builder) pack(ctx context.Context, p *pkg, format string) error {
	contents, err := b.contents(p, format)
	if err != nil {
		return err
	}
	scripts := map[string]string{}
	for when, name := range p.scripts {
		scripts[when] = filepath.Join(b.root, "packaging", "scripts", name)
	}
	spec := map[string]any{
		"name": p.name, "arch": p.arch, "platform": "linux", "version": b.version, "version_schema": "semver",
		"section": p.section, "priority": "optional", "maintainer": "The Wardroom Authors <" + maintainer + ">",
		"description": p.summary + "\n" + p.description, "homepage": "https://" + module,
		"mtime": b.epoch.Format("2006-01-02T15:04:05Z07:00"), "contents": contents, "scripts": scripts,
	}
	signature := map[string]any{}
	if b.key != "" {
		signature["key_file"] = b.key
	}
	var depends []string
	switch format {
	case "deb":
		for _, name := range p.depends {
			depends = append(depends, name+" (= "+debVersion(b.version)+")")
		}
		spec["recommends"] = p.recommends
		spec["deb"] = map[string]any{"compression": "gzip", "signature": signature}
	case "rpm":
		for _, name := range p.depends {
			depends = append(depends, name+" = "+debVersion(b.version))
		}
		spec["license"] = "Apache-2.0"
		spec["release"] = "1"
		spec["rpm"] = map[string]any{"summary": p.summary, "compression": "zstd", "buildhost": "localhost", "signature": signature}
	}
	spec["depends"] = depends
	text, err := yaml.Marshal(spec)
	if err != nil {
		return err
	}
	file := filepath.Join(b.stage, p.name+"-"+p.arch+"-"+format+".yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, b.nfpm, "package", "--config", file, "--packager", format, "--target", b.out)
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(b.epoch.Unix(), 10))
	return runQuietly(cmd)
}

// debVersion writes a version as nfpm does: a pre-release comes before its release.
func debVersion(version string) string {
	release, build, built := strings.Cut(version, "+")
	release = strings.Replace(release, "-", "~", 1)
	if built {
		return release + "+" + build
	}
	return release
}

// contents lists the tree of a package.
func (b *builder) contents(p *pkg, format string) ([]content, error) {
	stamp := b.epoch.Format("2006-01-02T15:04:05Z07:00")
	var list []content
	for _, d := range p.dirs {
		list = append(list, content{Dst: d.path, Type: "dir", FileInfo: &fileInfo{d.mode, "root", d.group, stamp}})
	}
	err := filepath.WalkDir(p.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		at := strings.TrimPrefix(path, p.root)
		if format == "rpm" && strings.HasPrefix(at, "/usr/share/lintian") {
			return nil
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			list = append(list, content{Src: target, Dst: at, Type: "symlink", FileInfo: &fileInfo{0, "root", "root", stamp}})
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		one := content{Src: path, Dst: at, FileInfo: &fileInfo{info.Mode().Perm(), "root", "root", stamp}}
		if slices.Contains(p.config, at) {
			one.Type = "config|noreplace"
		}
		if info.Mode().Perm() == 0o640 {
			one.FileInfo.Group = "wardroom"
		}
		list = append(list, one)
		return nil
	})
	return list, err
}

// sums writes the checksums of all files of a directory into it, and signs them where there is a key.
func (b *builder) sums(ctx context.Context, dir string) error {
	file := filepath.Join(dir, "SHA256SUMS")
	if err := os.RemoveAll(file); err != nil {
		return err
	}
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path, file) {
			return err
		}
		sum, err := sumFile(path)
		if err != nil {
			return err
		}
		at, err := filepath.Rel(dir, path)
		fmt.Fprintf(&text, "%s  %s\n", sum, filepath.ToSlash(at))
		return err
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		return err
	}
	if b.key == "" {
		return nil
	}
	home, err := os.MkdirTemp("", "gnupg-")
	if err != nil {
		return err
	}
	defer func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run() // its agent
		_ = os.RemoveAll(home)                                                // a copy of the key is in it
	}()
	for _, args := range [][]string{
		{"--batch", "--import", b.key},
		{"--batch", "--yes", "--armor", "--detach-sign", "--output", file + ".asc", file},
	} {
		cmd := exec.CommandContext(ctx, "gpg", append([]string{"--homedir", home}, args...)...)
		if err := runQuietly(cmd); err != nil {
			return err
		}
	}
	return nil
}

func sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}
