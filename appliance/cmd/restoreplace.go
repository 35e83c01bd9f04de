package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core/store"
)

// restoringSuffix is the suffix of a directory in which a store is being restored, and its whole name on a disk of its own.
const restoringSuffix = ".restoring"

// restorePlace returns where a store that is to be at dir is made: dir itself, or where it leads as a link. CONFLICT unless it is
// empty or not there. What a file system has at its root, and what a restore that was cut left there, does not count.
func restorePlace(dir string) (string, error) {
	place, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(dir); err == nil {
			return "", &outcomeError{code: exitConflict, message: dir + " is a link to what is not there", hint: "make the directory that it leads to"}
		}
		place, err = dir, nil
	}
	if err != nil {
		return "", fileError(err)
	}
	if place, err = filepath.Abs(place); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(place)
	if errors.Is(err, fs.ErrNotExist) {
		return place, nil
	}
	if err != nil {
		return "", fileError(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); !ownDisk(place) || name != "lost+found" && !strings.HasPrefix(name, restoringSuffix) {
			return "", notEmpty(dir)
		}
	}
	return place, nil
}

func notEmpty(dir string) error {
	return &outcomeError{code: exitConflict, message: dir + " is not empty", hint: "restore into a new or empty directory; move what is there aside first"}
}

// restoringAt is where what is restored to dir is made.
func restoringAt(dir string) string {
	if ownDisk(dir) { // beside it is another disk
		return filepath.Join(dir, restoringSuffix)
	}
	return dir + restoringSuffix
}

// filesPlace is restorePlace for the files of a backup whose store is restored to dir, with what to remove where a restore
// was cut when it had placed the files, and not yet the store.
func filesPlace(files, dir string) (string, error) {
	place, err := restorePlace(files)
	var taken *outcomeError
	if !errors.As(err, &taken) {
		return place, err
	}
	_, there := os.Stat(files)
	if _, cut := os.Lstat(restoringAt(dir)); cut == nil && there == nil {
		taken.hint = "a restore to " + dir + " was cut; if it made what is in " + files + ", remove that with: rm -r " + files +
			"; else give --files another directory. Then restore again: it clears the rest away"
	}
	return place, err
}

// restoreAt has fill make a store, or what else is restored, beside dir, which restorePlace returned, and gives it the name once everything of it is on disk:
// a restore that is cut leaves nothing at dir, and the next one clears away what it left beside it. The store belongs to the owner
// of dir, or of the directory above it.
func restoreAt(dir string, fill func(temp string) error) (err error) {
	temp := restoringAt(dir)
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	if err := fill(temp); err != nil {
		return err
	}
	if err := ownAs(temp, dir); err != nil {
		return err
	}
	if filepath.Dir(temp) == dir {
		return moveUp(temp, dir)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// empty removes what a restore put into dir.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	failed := []error{err}
	for _, entry := range entries {
		if entry.Name() != "lost+found" || !ownDisk(dir) {
			failed = append(failed, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(failed...)
}

// moveUp moves what was restored into dir, the root of a disk, which cannot be replaced. The manifest of a store is the first: a
// move that is cut leaves what no server takes for a store.
func moveUp(temp, dir string) error {
	entries, err := os.ReadDir(temp)
	if err != nil {
		return err
	}
	if err := store.CloseToOthers(dir); err != nil {
		return err
	}
	if i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == storeManifest }); i > 0 {
		entries[0], entries[i] = entries[i], entries[0]
	}
	for _, entry := range entries {
		if err := os.Rename(filepath.Join(temp, entry.Name()), filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return errors.Join(os.Remove(temp), syncDir(dir))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("make the restored store durable: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}
