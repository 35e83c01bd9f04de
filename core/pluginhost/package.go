package pluginhost

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// Bounds of a package, so that a hostile one cannot fill the disk.
const (
	maxBinary  = 512 << 20
	maxPackage = maxBinary
)

// Package is a plugin on its way into a directory: a bare binary, or a .tar.gz that holds manifest.json with one
// entry and the binary that it names. Its binary lies in a temporary file of the target directory, so that
// what was shown is what gets installed. Close removes what was not installed.
type Package struct {
	Entry ManifestEntry
	Size  int64 // bytes of the binary
	// Vouched tells that a manifest in the package announced the checksum; of a bare binary it was computed.
	Vouched bool

	dir  string
	temp string // path of the binary; empty once it is installed
}

// About says what a bare binary is, where that cannot be read from it. Empty fields are found out: the name is
// that of the file, the kind is told by the beginning of the name, the version is what the Go build recorded.
type About struct{ Name, Kind, Version string }

// ReadPackage checks the file at path and unpacks its binary into the directory of plugins, under a temporary
// name. Nothing of it is run. VALIDATION_ERROR tells what is wrong with the file.
func ReadPackage(path, dir string, about About) (*Package, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, core.Invalid("file", "%s cannot be read: %s", path, lastError(err))
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPackage {
		return nil, core.Invalid("file", "%s is not a file of at most %d MiB", path, maxPackage>>20)
	}
	p := &Package{dir: dir}
	in := bufio.NewReader(f)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if err = p.unpack(in); err == nil && about != (About{}) {
			err = core.Invalid("file", "is an archive, whose manifest says name, kind and version: they cannot be given as well")
		}
	} else {
		err = p.bare(path, in, about)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// unpack reads an archive.
func (p *Package) unpack(in io.Reader) error {
	bad := func(format string, args ...any) error { return core.Invalid("file", format, args...) }
	unzipped, err := gzip.NewReader(in)
	if err != nil {
		return bad("is not a .tar.gz archive")
	}
	archive := tar.NewReader(io.LimitReader(unzipped, maxBinary+2*maxManifest))
	var manifest *Manifest
	var name, sum string
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return bad("is a damaged archive, or one that is too large")
		}
		entry := strings.TrimPrefix(h.Name, "./")
		switch {
		case h.Typeflag == tar.TypeDir && (entry == "" || entry == "."):
			continue
		case h.Typeflag != tar.TypeReg:
			return bad("holds %q, which is not a plain file", shorten(h.Name))
		case entry == "" || entry == "." || entry == ".." || strings.ContainsAny(entry, "/\\\x00"):
			return bad("holds %q: the manifest and the binary must lie at the top, without any path", shorten(h.Name))
		case entry == ManifestFile && manifest == nil:
			data, err := io.ReadAll(io.LimitReader(archive, maxManifest+1))
			if err != nil {
				return bad("is a damaged archive")
			}
			if manifest, err = ParseManifest(data); err != nil {
				return err
			}
		case entry != ManifestFile && name == "":
			if name = entry; !pluginName.MatchString(name) {
				return bad("holds %q, which is not the name of a plugin", shorten(name))
			}
			if sum, err = p.save(archive); err != nil {
				return err
			}
		default:
			return bad("holds more than %s and one binary: %q", ManifestFile, shorten(h.Name))
		}
	}
	switch {
	case manifest == nil || name == "":
		return bad("must hold %s and the binary that it names", ManifestFile)
	case len(manifest.Plugins) != 1 || manifest.Plugins[0].Name != name:
		return bad("has a manifest that does not name exactly the one plugin %s", name)
	case manifest.Plugins[0].SHA256 != sum:
		return bad("the checksum of its binary is %s, and its manifest says %s", sum, manifest.Plugins[0].SHA256)
	}
	p.Entry, p.Vouched = manifest.Plugins[0], true
	return nil
}

// bare takes a binary without a manifest.
func (p *Package) bare(path string, in io.Reader, about About) error {
	sum, err := p.save(in)
	if err != nil {
		return err
	}
	p.Entry = ManifestEntry{
		Name: orElse(about.Name, filepath.Base(path)), Kind: about.Kind, Version: about.Version, SHA256: sum, Protocol: 1,
	}
	if p.Entry.Kind == "" {
		if p.Entry.Kind = KindOfName(p.Entry.Name); p.Entry.Kind == "" {
			return core.Invalid("kind", "cannot be told from the name %q; say runtime, secret or audit", shorten(p.Entry.Name))
		}
	}
	if p.Entry.Version == "" {
		info, err := buildinfo.ReadFile(p.temp)
		if err != nil {
			return core.Invalid("file", "is neither a .tar.gz archive nor a Go program; give its version if it is a plugin")
		}
		p.Entry.Version = orElse(strings.Trim(info.Main.Version, "()"), "devel")
	}
	var problems []core.Problem
	p.Entry.check(func(field, format string, args ...any) {
		problems = append(problems, core.Problem{Path: field, Reason: fmt.Sprintf(format, args...)})
	})
	return core.InvalidAll("the plugin cannot be installed", problems)
}

// KindOfName tells the kind of a plugin by the beginning of its name, as ours are named; empty if it does not.
func KindOfName(name string) string {
	for prefix, kind := range map[string]string{
		"runtime-": core.PluginKindRuntime, "secrets-": core.PluginKindSecret, "secret-": core.PluginKindSecret, "audit-": core.PluginKindAudit,
	} {
		if strings.HasPrefix(name, prefix) {
			return kind
		}
	}
	return ""
}

// save writes the binary to a temporary file of the directory and returns its checksum.
func (p *Package) save(in io.Reader) (string, error) {
	f, err := os.CreateTemp(p.dir, ".install-*")
	if err != nil {
		return "", core.Errorf(core.CodeForbidden, "no file can be written to %s: %s", p.dir, lastError(err)).WithCause(err)
	}
	p.temp = f.Name()
	sum := sha256.New()
	p.Size, err = io.Copy(io.MultiWriter(f, sum), io.LimitReader(in, maxBinary+1))
	if err == nil {
		err = f.Chmod(0o755)
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	switch {
	case err != nil:
		return "", core.Invalid("file", "its binary cannot be unpacked into %s: %s", p.dir, lastError(err))
	case p.Size > maxBinary:
		return "", core.Invalid("file", "its binary is larger than %d MiB", maxBinary>>20)
	case p.Size == 0:
		return "", core.Invalid("file", "its binary is empty")
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Close removes what was not installed. Safe to call twice.
func (p *Package) Close() {
	if p.temp != "" {
		_ = os.Remove(p.temp)
		p.temp = ""
	}
}
