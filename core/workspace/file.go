package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/wardroom/wardroom/core/internal/atomicfile"
)

// holds reports whether path is a regular file with exactly this content.
func holds(path string, want []byte) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(want)) {
		return false
	}
	have, err := os.ReadFile(path)
	return err == nil && bytes.Equal(have, want)
}

// keep makes path hold want, and reports whether it did not.
func keep(path string, want []byte, mode os.FileMode) (changed bool, err error) {
	if holds(path, want) {
		return false, nil
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		if err := os.RemoveAll(path); err != nil {
			return false, err
		}
	}
	return true, atomicfile.Write(path, want, mode)
}

// glob returns what matches a pattern below a directory, whose own path may hold what patterns are made of.
func glob(dir, pattern string) []string {
	found, _ := fs.Glob(os.DirFS(dir), pattern) // the pattern is well formed
	for i, name := range found {
		found[i] = filepath.Join(dir, name)
	}
	return found
}

// removeTree removes a directory with what is in it, directories without permission to write included: caches of
// build tools are often made read-only.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700) // what fails shows below
		}
		if err != nil && d == nil {
			return fs.SkipAll
		}
		return nil
	})
	return os.RemoveAll(path)
}

// diskUse returns the bytes that a directory takes on disk. What cannot be read counts nothing.
func diskUse(path string) int64 {
	var sum int64
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // files come and go while they are counted
		}
		if info, err := d.Info(); err == nil && !info.IsDir() {
			sum += onDisk(info)
		}
		return nil
	})
	return sum
}

// onDisk returns the bytes that a file takes: its holes take none. Of a short file the system may not tell.
func onDisk(info fs.FileInfo) int64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if taken := blocks(min(info.Size(), 1)); ok && stat.Blocks*512 < info.Size() {
		return max(stat.Blocks*512, taken)
	}
	return blocks(info.Size())
}

// blocks rounds a size up to the blocks it takes.
func blocks(size int64) int64 { return (size + 4095) &^ 4095 }
