package pluginhost

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"syscall"
	"unicode"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
)

// Where manifests are: one for the plugins that came with the package, and one file for each that was
// installed later, so that a package upgrade leaves those alone.
const (
	ManifestFile  = "manifest.json"
	InstalledDir  = "manifest.d"
	maxManifest   = 1 << 20
	maxEntries    = 1000
	manifestMajor = 1
)

// Manifest says what the binaries of a directory are. Its JSON form is documented by its tags.
type Manifest struct {
	Format  int             `json:"format"` // 1
	Plugins []ManifestEntry `json:"plugins"`
}

// ManifestEntry is one binary, whose file has the name of the plugin.
type ManifestEntry struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // runtime, secret or audit
	Version  string `json:"version"`
	SHA256   string `json:"sha256"`   // of the file, 64 lower-case hexadecimal digits
	Protocol int    `json:"protocol"` // major version of the plugin protocol that it speaks
	// Files are programs and data that the plugin needs beside it. They lie in a directory of their own: plugin.File of
	// the sdk tells where.
	Files []ManifestFileEntry `json:"files,omitempty"`
	// SignedBy is the public key whose signature was checked when the plugin was installed. Packages do not have it.
	SignedBy string `json:"signedBy,omitempty"`

	installed bool // read from InstalledDir
}

// ManifestFileEntry is a file that comes with a plugin.
type ManifestFileEntry struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// fileName is what names a file that comes with a plugin.
var fileName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$`)

// maxFiles is how many files may come with a plugin.
const maxFiles = 16

// filesDir is where the files of a plugin are, in the directory of the plugins; empty for one that has none. Another
// build has another directory: the one that runs keeps its own until it ends.
func (e ManifestEntry) filesDir() string {
	if len(e.Files) == 0 {
		return ""
	}
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, e.SHA256) // a hash takes everything
	for _, f := range e.Files {
		_, _ = fmt.Fprintln(sum, f.Name, f.SHA256)
	}
	return filepath.Join("files", e.Name+"-"+hex.EncodeToString(sum.Sum(nil)[:8]))
}

func validSum(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size && text == strings.ToLower(text)
}

// pluginName is what names a plugin and its file.
var pluginName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// kinds of plugins there are.
var kinds = []string{core.PluginKindRuntime, core.PluginKindSecret, core.PluginKindAudit}

// ParseManifest reads a manifest strictly: one with anything unexpected is refused as a whole.
// VALIDATION_ERROR lists every problem.
func ParseManifest(data []byte) (*Manifest, error) {
	if len(data) > maxManifest {
		return nil, core.Invalid("manifest", "is larger than %d bytes", maxManifest)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	m := new(Manifest)
	if err := decoder.Decode(m); err != nil {
		return nil, core.Invalid("manifest", "is not a manifest of plugins: %s", shorten(strings.TrimPrefix(err.Error(), "json: ")))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, core.Invalid("manifest", "has text after its end")
	}
	var problems []core.Problem
	add := func(path, format string, args ...any) {
		problems = append(problems, core.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
	}
	if m.Format != manifestMajor {
		add("format", "must be %d, not %d: this manifest is of another release", manifestMajor, m.Format)
	}
	if len(m.Plugins) > maxEntries {
		add("plugins", "has %d entries; at most %d", len(m.Plugins), maxEntries)
		m.Plugins = m.Plugins[:maxEntries]
	}
	seen := map[string]bool{}
	for i, e := range m.Plugins {
		path := fmt.Sprintf("plugins[%d]", i)
		e.check(func(field, format string, args ...any) { add(path+"."+field, format, args...) })
		if seen[e.Name] {
			add(path+".name", "%q is there twice", shorten(e.Name))
		}
		seen[e.Name] = true
	}
	if err := core.InvalidAll("the manifest is not valid", problems); err != nil {
		return nil, err
	}
	return m, nil
}

// check reports what is wrong with an entry.
func (e ManifestEntry) check(add func(field, format string, args ...any)) {
	if !pluginName.MatchString(e.Name) {
		add("name", "%q is not a name; use lower-case letters, digits, - and _, a letter first, at most 63", shorten(e.Name))
	}
	if !slices.Contains(kinds, e.Kind) {
		add("kind", "%q is not one of %s", shorten(e.Kind), strings.Join(kinds, ", "))
	}
	if e.Version == "" || len(e.Version) > 64 || strings.ContainsFunc(e.Version, func(r rune) bool { return !unicode.IsPrint(r) }) {
		add("version", "must be 1 to 64 printable characters")
	}
	if !validSum(e.SHA256) {
		add("sha256", "must be 64 lower-case hexadecimal digits")
	}
	if len(e.Files) > maxFiles {
		add("files", "has %d entries; at most %d", len(e.Files), maxFiles)
		return
	}
	seen := map[string]bool{e.Name: true, ManifestFile: true}
	for i, f := range e.Files {
		path := fmt.Sprintf("files[%d].", i)
		switch {
		case !fileName.MatchString(f.Name):
			add(path+"name", "%q is not a name; use letters, digits, dot, - and _, at most 63", shorten(f.Name))
		case seen[f.Name]:
			add(path+"name", "%q is there twice", shorten(f.Name))
		}
		seen[f.Name] = true
		if !validSum(f.SHA256) {
			add(path+"sha256", "must be 64 lower-case hexadecimal digits")
		}
	}
	if e.Protocol < 1 || e.Protocol > 1000 {
		add("protocol", "must be the major version of the plugin protocol, 1 or higher")
	}
}

// Encode writes the manifest with its entries in order of their names.
func (m *Manifest) Encode() []byte {
	sort.Slice(m.Plugins, func(i, j int) bool { return m.Plugins[i].Name < m.Plugins[j].Name })
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		panic("pluginhost: a manifest is plain data: " + err.Error())
	}
	return append(data, '\n')
}

// Lookup returns the entry of a plugin.
func (m *Manifest) Lookup(name string) (ManifestEntry, bool) {
	for _, e := range m.Plugins {
		if e.Name == name {
			return e, true
		}
	}
	return ManifestEntry{}, false
}

// ReadManifest reads the manifests of a directory of plugins: manifest.json, and manifest.d/*.json over which
// it wins. A directory without any is one without entries.
func ReadManifest(dir string) (*Manifest, error) {
	all := &Manifest{Format: manifestMajor}
	paths := []string{filepath.Join(dir, ManifestFile)}
	entries, err := os.ReadDir(filepath.Join(dir, InstalledDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, core.Errorf(core.CodeInternal, "the manifests in %s cannot be read", filepath.Join(dir, InstalledDir)).WithCause(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			paths = append(paths, filepath.Join(dir, InstalledDir, name))
		}
	}
	for _, path := range paths {
		m, err := readManifestFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range m.Plugins {
			if _, known := all.Lookup(e.Name); !known {
				e.installed = filepath.Dir(path) != filepath.Clean(dir)
				all.Plugins = append(all.Plugins, e)
			}
		}
	}
	return all, nil
}

func readManifestFile(path string) (*Manifest, error) {
	data, err := readBounded(path, maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(data)
	if err != nil {
		e := core.AsError(err)
		e.Message = path + ": " + e.Message
		return nil, e
	}
	return m, nil
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us up
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, core.Invalid("manifest", "%s is not a regular file of at most %d bytes", path, limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// shorten keeps a hostile name from filling a message.
func shorten(text string) string { return shortenTo(text, 80) }

// shortenTo makes text of a plugin fit for a message: valid, and of at most so many bytes.
func shortenTo(text string, longest int) string {
	return clip.Marked(strings.ToValidUTF8(text, "?"), longest, "...")
}
