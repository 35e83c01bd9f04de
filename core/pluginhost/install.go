package pluginhost

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/atomicfile"
)

// formerDir holds, of each plugin that was installed over another, the binary and the entry of the one before.
const formerDir = "former"

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
	if _, err := os.Lstat(filepath.Join(p.dir, removingDir, p.Entry.Name+".json")); err == nil {
		return ManifestEntry{}, false, nil // what is there goes
	}
	// A file that is what p puts there is of an install by an earlier release that was cut short before it was recorded.
	if sum, err := FileSHA256(filepath.Join(p.dir, p.Entry.Name)); !errors.Is(err, fs.ErrNotExist) && !known && (err != nil || sum != p.Entry.SHA256) {
		return ManifestEntry{}, false, core.Conflict("plugin", p.Entry.Name, "",
			"%s is there and belongs to no manifest; remove it first", filepath.Join(p.dir, p.Entry.Name))
	}
	return was, known, nil
}

// Older reports whether version a is certainly an older one than b.
func Older(a, b string) bool {
	former, err := semver.NewVersion(a)
	if err != nil {
		return false
	}
	later, err := semver.NewVersion(b)
	return err == nil && former.LessThan(later)
}

// Install puts the plugin in place and records it, and keeps the one that was there for Rollback. A core that runs goes on
// with the old binary, and its files, until the plugin is restarted. Files are replaced and never written to: they may be
// running.
func (p *Package) Install() error {
	if err := resumeRemovals(p.dir); err != nil { // or the end of one would take what is installed now
		return unwritable(p.dir, err)
	}
	if _, _, _, err := finishRollback(p.dir, p.Entry.Name); err != nil {
		if core.ErrorCode(err) != core.CodeConflict && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := giveUpRollback(p.dir, p.Entry.Name); err != nil { // what it needs is gone or damaged
			return unwritable(p.dir, err)
		}
	}
	was, replaces, err := p.Replaces()
	if err != nil {
		return err
	}
	if err := p.install(was, replaces); err != nil {
		return unwritable(p.dir, err)
	}
	p.Close()
	return nil
}

func (p *Package) install(was ManifestEntry, replaces bool) error {
	if replaces {
		if err := keepFormer(p.dir, was); err != nil {
			return err
		}
	}
	if to := p.Entry.filesDir(); to != "" {
		to = filepath.Join(p.dir, to)
		if err := os.RemoveAll(to); err != nil { // of the same build, installed before
			return err
		}
		if err := MakeDir(to); err != nil {
			return err
		}
		for _, f := range p.Entry.Files {
			if err := os.Rename(filepath.Join(p.temp, f.Name), filepath.Join(to, f.Name)); err != nil {
				return err
			}
		}
		if err := errors.Join(atomicfile.SyncDir(to), atomicfile.SyncDir(filepath.Dir(to))); err != nil {
			return err
		}
	}
	if err := place(p.dir, filepath.Join(p.temp, p.Entry.Name), p.Entry); err != nil {
		return err
	}
	return p.sweepFiles()
}

// unwritable is the error for a directory of plugins that cannot be changed.
func unwritable(dir string, err error) error {
	return core.Errorf(core.CodeForbidden, "%s cannot be written to: %s", dir, lastError(err)).WithCause(err)
}

// place records a plugin, and makes the binary at path its own. It records first: that takes room on the disk, which may be
// full, and a binary that no entry knows would be in the way of every other install.
func place(dir, path string, e ManifestEntry) error {
	manifests := filepath.Join(dir, InstalledDir)
	if err := MakeDir(manifests); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(manifests, e.Name+".json"), entryFile(e), 0o644); err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(dir, e.Name)); err != nil {
		return err
	}
	return atomicfile.SyncDir(dir)
}

func entryFile(e ManifestEntry) []byte {
	m := Manifest{Format: manifestMajor, Plugins: []ManifestEntry{e}}
	return m.Encode()
}

// keepFormer makes the plugin that is in place the one that Rollback brings back. It stays in place. A binary that is not that of
// the entry, as an install that was cut short leaves it, is none to come back to: what was kept before stays.
func keepFormer(dir string, e ManifestEntry) error {
	if sum, err := FileSHA256(filepath.Join(dir, e.Name)); err == nil && sum != e.SHA256 {
		return nil
	}
	former := filepath.Join(dir, formerDir)
	if err := MakeDir(former); err != nil {
		return err
	}
	binary := filepath.Join(former, e.Name)
	_ = os.Remove(binary + ".new") // what a crash left
	if err := os.Link(filepath.Join(dir, e.Name), binary+".new"); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // recorded, and removed by hand since
		}
		return err
	}
	if err := os.Rename(binary+".new", binary); err != nil {
		return err
	}
	_ = os.Remove(binary + ".new") // a rename onto the same file leaves it
	return writeFile(binary+".json", entryFile(e), 0o644)
}

// sweepFiles removes directories of files that neither the plugin nor the one before it has. The one before that may still
// run: its files are gone then for what it starts anew.
func (p *Package) sweepFiles() error {
	keep := map[string]bool{p.Entry.filesDir(): true}
	if m, err := readManifestFile(filepath.Join(p.dir, formerDir, p.Entry.Name+".json")); err == nil && len(m.Plugins) == 1 {
		keep[m.Plugins[0].filesDir()] = true
	}
	entries, err := os.ReadDir(filepath.Join(p.dir, "files"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name, ok := strings.CutPrefix(entry.Name(), p.Entry.Name+"-")
		if rel := filepath.Join("files", entry.Name()); ok && len(name) == 16 && !keep[rel] {
			if err := os.RemoveAll(filepath.Join(p.dir, rel)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rollback puts the plugin back that the last Install of it replaced, and keeps the present one in its stead: a second
// Rollback undoes the first. It returns what is installed then and what was before. NOT_FOUND when nothing was kept. A process
// that died in between has begun what the next Rollback, or Install, takes to its end.
func Rollback(dir, name string) (now, was ManifestEntry, err error) {
	if !pluginName.MatchString(name) {
		return now, was, core.Invalid("name", "%q is not a name for a plugin", shorten(name))
	}
	if now, was, begun, err := finishRollback(dir, name); begun || err != nil {
		return now, was, err
	}
	former := filepath.Join(dir, formerDir, name)
	m, err := readManifestFile(former + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return now, was, core.Errorf(core.CodeNotFound, "no former version of the plugin %s is kept in %s: only an upgrade with wardroom plugin install keeps one", name, dir)
	}
	if err != nil {
		return now, was, err
	}
	all, err := ReadManifest(dir)
	if err != nil {
		return now, was, err
	}
	was, known := all.Lookup(name)
	if !known || len(m.Plugins) != 1 || m.Plugins[0].Name != name {
		return now, was, core.Conflict("plugin", name, "", "the manifests of the plugin %s do not belong together; install it anew", name)
	}
	now = m.Plugins[0]
	if sum, err := FileSHA256(former); err != nil || sum != now.SHA256 {
		return now, was, core.Conflict("plugin", name, "", "the former version of the plugin %s was changed since; install it anew", name)
	}
	if err := writeFile(former+backEntry, entryFile(now), 0o644); err != nil {
		return now, was, unwritable(dir, err)
	}
	now, was, _, err = finishRollback(dir, name)
	return now, was, err
}

// What of a former version has these ends is on its way back: the binary, and the entry, which is there first and goes last.
const (
	backBinary = ".back"
	backEntry  = ".back.json"
)

// finishRollback takes a rollback that has begun to its end, wherever a process that died left it. It returns false when
// none has.
func finishRollback(dir, name string) (now, was ManifestEntry, begun bool, err error) {
	former := filepath.Join(dir, formerDir, name)
	m, err := readManifestFile(former + backEntry)
	if errors.Is(err, fs.ErrNotExist) {
		return now, was, false, nil
	}
	if core.ErrorCode(err) == core.CodeValidation {
		return now, was, true, core.Conflict("plugin", name, "", "the rollback of the plugin %s that has begun cannot be read; install it anew", name).WithCause(err)
	}
	all, allErr := ReadManifest(dir)
	if err = cmp.Or(err, allErr); err != nil {
		return now, was, true, err
	}
	was, known := all.Lookup(name)
	if !known || len(m.Plugins) != 1 || m.Plugins[0].Name != name {
		return now, was, true, core.Conflict("plugin", name, "", "the manifests of the plugin %s do not belong together; install it anew", name)
	}
	now = m.Plugins[0]
	recorded := bytes.Equal(entryFile(was), entryFile(now))
	if recorded {
		if kept, err := readManifestFile(former + ".json"); err == nil && len(kept.Plugins) == 1 {
			was = kept.Plugins[0]
		}
	}
	aside := former + backBinary
	if sum, err := FileSHA256(filepath.Join(dir, name)); !recorded || err != nil || sum != now.SHA256 {
		if !Exists(aside) {
			if err := os.Rename(former, aside); err != nil {
				return now, was, true, unwritable(dir, err)
			}
		}
		if !recorded {
			if err := keepFormer(dir, was); err != nil {
				return now, was, true, unwritable(dir, errors.Join(err, os.Rename(aside, former), os.Remove(former+backEntry)))
			}
		}
		if err := place(dir, aside, now); err != nil {
			return now, was, true, unwritable(dir, err)
		}
	}
	if err := os.Remove(former + backEntry); err != nil {
		return now, was, true, unwritable(dir, err)
	}
	return now, was, true, nil
}

// giveUpRollback forgets a rollback that cannot be taken to its end.
func giveUpRollback(dir, name string) error {
	former := filepath.Join(dir, formerDir, name)
	for _, path := range []string{former + backBinary, former + backEntry} { // the entry goes last: it is what has begun
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// CheckDir makes sure that only root and this user can change a directory of plugins.
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
