package pluginhost

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/atomicfile"
	"github.com/wardroom/wardroom/sdk/wire"
)

// removingDir holds the entries of plugins whose removal has begun. Whatever is in it is no plugin any more, and what is
// left of its files goes with the next Remove, Install or start of the host.
const removingDir = "removing"

// Remove takes an installed plugin out of a directory: its entry, its binary, the files that came with it, and the version
// that Rollback would bring back. A process that died in between leaves a plugin that is not one any more, and the next
// Remove goes on. NOT_FOUND for a plugin that is not there, CONFLICT for one that came with the package of Wardroom.
// The plugin must not be used meanwhile.
func Remove(dir, name string) (wire.PluginRemoval, error) {
	var none wire.PluginRemoval
	if !pluginName.MatchString(name) {
		return none, core.Invalid("name", "%q is not a name for a plugin", shorten(name))
	}
	begun := filepath.Join(dir, removingDir, name+".json")
	if !Exists(begun) {
		if err := beginRemoval(dir, name, begun); err != nil {
			return none, err
		}
	}
	m, err := readManifestFile(begun)
	if err != nil {
		return none, err
	}
	e, _ := m.Lookup(name)
	removed := wire.PluginRemoval{Name: name, Kind: e.Kind, Version: e.Version, SHA256: e.SHA256, Directory: dir}
	if former, err := readManifestFile(filepath.Join(dir, formerDir, name+".json")); err == nil {
		if e, known := former.Lookup(name); known {
			removed.Former = e.Version
		}
	}
	if err := finishRemoval(dir, name); err != nil {
		return none, unwritable(dir, err)
	}
	return removed, nil
}

// removable returns why Remove would refuse.
func removable(dir, name string) error {
	if !pluginName.MatchString(name) {
		return core.Invalid("name", "%q is not a name for a plugin", shorten(name))
	}
	if Exists(filepath.Join(dir, removingDir, name+".json")) {
		return nil
	}
	all, err := ReadManifest(dir)
	if err != nil {
		return err
	}
	e, known := all.Lookup(name)
	switch {
	case !known:
		return core.Errorf(core.CodeNotFound, "the plugin %s is not installed in %s", name, dir)
	case !e.installed:
		return core.Conflict("plugin", name, "", "the plugin %s came with the package of Wardroom, whose package manager removes it; "+
			"wardroom plugin disable %s stops it", name, name)
	}
	return nil
}

// beginRemoval makes an installed plugin one that is not any more, in one step that lasts.
func beginRemoval(dir, name, begun string) error {
	if err := removable(dir, name); err != nil {
		return err
	}
	if err := MakeDir(filepath.Dir(begun)); err != nil {
		return unwritable(dir, err)
	}
	manifests := filepath.Join(dir, InstalledDir)
	if err := os.Rename(filepath.Join(manifests, name+".json"), begun); err != nil {
		return unwritable(dir, err)
	}
	if err := errors.Join(atomicfile.SyncDir(manifests), atomicfile.SyncDir(filepath.Dir(begun))); err != nil {
		return unwritable(dir, err)
	}
	return nil
}

// finishRemoval removes what is left of a plugin whose removal has begun. The entry goes last.
func finishRemoval(dir, name string) error {
	former := filepath.Join(dir, formerDir, name)
	paths := []string{filepath.Join(dir, name), former, former + ".json", former + ".new", former + backBinary, former + backEntry}
	entries, err := os.ReadDir(filepath.Join(dir, "files"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if sum, ok := strings.CutPrefix(entry.Name(), name+"-"); ok && len(sum) == 16 {
			paths = append(paths, filepath.Join(dir, "files", entry.Name()))
		}
	}
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	for _, at := range []string{dir, filepath.Join(dir, formerDir), filepath.Join(dir, "files")} {
		if err := atomicfile.SyncDir(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Remove(filepath.Join(dir, removingDir, name+".json"))
}

// resumeRemovals finishes the removals that a process which died had begun.
func resumeRemovals(dir string) error {
	entries, err := os.ReadDir(filepath.Join(dir, removingDir))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	var failed []error
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), ".json"); ok && pluginName.MatchString(name) {
			failed = append(failed, finishRemoval(dir, name))
		}
	}
	return errors.Join(failed...)
}
