package pluginhost

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/atomicfile"
)

// Replaces returns the entry of the plugin that installing p would replace, and whether there is one. CONFLICT
// for a plugin that came with the package of Wardroom, which its package manager looks after.
func (p *Package) Replaces() (ManifestEntry, bool, error) {
	shipped, err := readManifestFile(filepath.Join(p.dir, ManifestFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ManifestEntry{}, false, err
	}
	if shipped != nil {
		if _, known := shipped.Lookup(p.Entry.Name); known {
			return ManifestEntry{}, false, core.Conflict("plugin", p.Entry.Name, "",
				"the plugin %s came with the package of Wardroom; choose another name", p.Entry.Name)
		}
	}
	all, err := ReadManifest(p.dir)
	if err != nil {
		return ManifestEntry{}, false, err
	}
	was, known := all.Lookup(p.Entry.Name)
	if _, err := os.Lstat(filepath.Join(p.dir, p.Entry.Name)); err == nil && !known {
		return ManifestEntry{}, false, core.Conflict("plugin", p.Entry.Name, "",
			"%s is there and belongs to no manifest; remove it first", filepath.Join(p.dir, p.Entry.Name))
	}
	return was, known, nil
}

// Install puts the binary in place and records it. A core that runs goes on with the old binary until the
// plugin is restarted. The file is replaced and never written to: it may be running.
func (p *Package) Install() error {
	if _, _, err := p.Replaces(); err != nil {
		return err
	}
	failed := func(err error) error {
		return core.Errorf(core.CodeForbidden, "%s cannot be written to: %s", p.dir, lastError(err)).WithCause(err)
	}
	manifests := filepath.Join(p.dir, InstalledDir)
	if err := os.MkdirAll(manifests, 0o755); err != nil {
		return failed(err)
	}
	if err := os.Rename(p.temp, filepath.Join(p.dir, p.Entry.Name)); err != nil {
		return failed(err)
	}
	p.temp = ""
	if err := atomicfile.SyncDir(p.dir); err != nil {
		return failed(err)
	}
	m := Manifest{Format: manifestMajor, Plugins: []ManifestEntry{p.Entry}}
	if err := writeFile(filepath.Join(manifests, p.Entry.Name+".json"), m.Encode(), 0o644); err != nil {
		return failed(err)
	}
	return nil
}

// CheckDir makes sure that nobody but root and this user can change a directory of plugins.
func CheckDir(dir string) error {
	if err := checkOwner(dir); err != nil {
		return core.Errorf(core.CodeForbidden, "the directory of the plugins is not safe: %s", lastError(err)).WithCause(err)
	}
	return nil
}

// writeFile replaces a file at once, name and content.
func writeFile(path string, data []byte, mode os.FileMode) error {
	if err := atomicfile.Write(path, data, mode); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}
