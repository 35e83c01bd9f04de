package pluginhost

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
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
	"syscall"
	"time"

	"aead.dev/minisign"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// Bounds of a package, so that a hostile one cannot fill the disk.
const (
	maxBinary  = 512 << 20
	maxPackage = maxBinary
)

// packageTemp is the pattern of the directories that packages are unpacked to.
const packageTemp = ".install-*"

// Package is a plugin on its way into a directory: a bare binary, or a .tar.gz that holds manifest.json with one
// entry, the binary that it names, and the files that the entry lists. What it holds lies in a temporary directory of the
// target directory, so that what was shown is what gets installed. Close removes what was not installed.
type Package struct {
	Entry ManifestEntry
	Size  int64 // bytes of the binary and its files
	// Vouched reports whether a manifest in the package announced the checksum; of a bare binary it was computed. By whom
	// it was signed is in Entry.
	Vouched bool

	dir  string
	temp string // directory of what it holds, under its own name; empty once it is installed
}

// About says what a bare binary is, where that cannot be read from it. Empty fields are found out: the name is
// that of the file, the beginning of the name decides the kind, and the version is the one that the Go build recorded.
type About struct{ Name, Kind, Version string }

// ReadPackage checks the file at path and unpacks it into the directory of plugins, under a temporary name. Nothing of it
// is run. VALIDATION_ERROR tells what is wrong with the file, or with its signature.
func ReadPackage(path, dir string, about About, trust Trust) (*Package, error) {
	keys, err := parseKeys(trust.Keys)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us up
	if err != nil {
		return nil, core.Invalid("file", "%s cannot be read: %s", path, lastError(err))
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPackage {
		return nil, core.Invalid("file", "%s is not a file of at most %d MiB", path, maxPackage>>20)
	}
	sweepPackages(dir)
	p := &Package{dir: dir}
	if p.temp, err = os.MkdirTemp(dir, packageTemp); err != nil {
		return nil, core.Errorf(core.CodeForbidden, "no file can be written to %s: %s", dir, lastError(err)).WithCause(err)
	}
	signed := minisign.NewReader(f) // of the very bytes that are unpacked
	in := bufio.NewReader(signed)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if err = p.unpack(in); err == nil && about != (About{}) {
			err = core.Invalid("file", "is an archive, whose manifest says name, kind and version: they cannot be given as well")
		}
	} else {
		err = p.bare(path, in, about)
	}
	if err == nil && p.Entry.Protocol != plugin.ProtocolVersion {
		err = core.Invalid("protocol", "%s speaks version %d of the plugin protocol, and this release speaks %d; install the release of the plugin that belongs to it",
			p.Entry.Name, p.Entry.Protocol, plugin.ProtocolVersion)
	}
	if told := KindOfName(p.Entry.Name); err == nil && told != "" && told != p.Entry.Kind {
		err = core.Invalid("kind", "is %s, and %s is the name of one of kind %s", p.Entry.Kind, p.Entry.Name, told)
	}
	if err == nil {
		if _, failed := io.Copy(io.Discard, in); failed != nil {
			err = core.Invalid("file", "%s cannot be read: %s", path, lastError(failed))
		}
	}
	if err == nil {
		p.Entry.SignedBy, err = trust.signedBy(path, keys, signed)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// keptPackage is how long what a package was unpacked to may wait for Install. What is older was left by a process that died.
const keptPackage = 24 * time.Hour

// sweepPackages removes what processes that died have unpacked to a directory of plugins. What it cannot remove stays.
func sweepPackages(dir string) {
	left, err := filepath.Glob(filepath.Join(dir, packageTemp))
	if err != nil {
		return
	}
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && info.IsDir() && time.Since(info.ModTime()) > keptPackage {
			_ = os.RemoveAll(path)
		}
	}
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
	sums := map[string]string{} // of what it holds, besides the manifest
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
			return bad("holds %q: all files must lie at the top, without any path", shorten(h.Name))
		case !fileName.MatchString(entry):
			return bad("holds %q, which is not a name for a file of a plugin", shorten(entry))
		case entry == ManifestFile && manifest != nil || sums[entry] != "":
			return bad("holds %s twice", entry)
		case entry == ManifestFile:
			data, err := io.ReadAll(io.LimitReader(archive, maxManifest+1))
			if err != nil {
				return bad("is a damaged archive")
			}
			if manifest, err = ParseManifest(data); err != nil {
				return err
			}
		case len(sums) > maxFiles:
			return bad("holds more than a binary and %d files", maxFiles)
		default:
			if sums[entry], err = p.save(entry, archive); err != nil {
				return err
			}
		}
	}
	if manifest == nil || len(sums) == 0 {
		return bad("must hold %s and the binary that it names", ManifestFile)
	}
	if len(manifest.Plugins) != 1 || sums[manifest.Plugins[0].Name] == "" {
		return bad("has a manifest that does not name exactly one plugin that is in it")
	}
	p.Entry, p.Vouched = manifest.Plugins[0], true
	if p.Entry.SignedBy != "" {
		return bad("has a manifest with signedBy, which says what was checked here and has no place in a package")
	}
	return p.checkSums(sums)
}

// checkSums compares what the archive held with its manifest.
func (p *Package) checkSums(sums map[string]string) error {
	listed := append([]ManifestFileEntry{{p.Entry.Name, p.Entry.SHA256}}, p.Entry.Files...)
	for _, f := range listed {
		switch sum := sums[f.Name]; {
		case sum == "":
			return core.Invalid("file", "does not hold %s, which its manifest lists", f.Name)
		case sum != f.SHA256:
			return core.Invalid("file", "the checksum of %s is %s, and its manifest says %s", f.Name, sum, f.SHA256)
		}
		delete(sums, f.Name)
	}
	for name := range sums {
		return core.Invalid("file", "holds %q, which is not listed in files of its manifest", name)
	}
	return nil
}

// bare takes a binary without a manifest.
func (p *Package) bare(path string, in io.Reader, about About) error {
	p.Entry = ManifestEntry{
		Name: cmp.Or(about.Name, filepath.Base(path)), Kind: about.Kind, Version: about.Version, Protocol: plugin.ProtocolVersion,
	}
	if !pluginName.MatchString(p.Entry.Name) {
		return core.Invalid("name", "%q is not a name for a plugin; give one with --name", shorten(p.Entry.Name))
	}
	var err error
	if p.Entry.SHA256, err = p.save(p.Entry.Name, in); err != nil {
		return err
	}
	if p.Entry.Kind == "" {
		if p.Entry.Kind = KindOfName(p.Entry.Name); p.Entry.Kind == "" {
			return core.Invalid("kind", "cannot be told from the name %q; say runtime, secret or audit", shorten(p.Entry.Name))
		}
	}
	if p.Entry.Version == "" {
		info, err := buildinfo.ReadFile(filepath.Join(p.temp, p.Entry.Name))
		if err != nil {
			return core.Invalid("file", "is neither a .tar.gz archive nor a Go program; give its version if it is a plugin")
		}
		p.Entry.Version = cmp.Or(strings.Trim(info.Main.Version, "()"), "devel")
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

// save writes a file to the temporary directory and returns its checksum.
func (p *Package) save(name string, in io.Reader) (string, error) {
	f, err := os.OpenFile(filepath.Join(p.temp, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return "", core.Errorf(core.CodeForbidden, "no file can be written to %s: %s", p.dir, lastError(err)).WithCause(err)
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(in, maxBinary+1-p.Size))
	p.Size += size
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
		return "", core.Invalid("file", "%s cannot be unpacked into %s: %s", name, p.dir, lastError(err))
	case p.Size > maxBinary:
		return "", core.Invalid("file", "is larger than %d MiB", maxBinary>>20)
	case size == 0:
		return "", core.Invalid("file", "%s is empty", name)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Close removes what was not installed. Safe to call twice.
func (p *Package) Close() {
	if p.temp != "" {
		_ = os.RemoveAll(p.temp)
		p.temp = ""
	}
}
