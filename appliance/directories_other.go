//go:build !linux

package appliance

import (
	"fmt"
	"os"
)

// private refuses a directory that others can write to.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the run directory %s must be a directory with mode 0700", dir)
	}
	return nil
}

// lockFile locks nothing here, so that nothing is taken for abandoned.
func lockFile(string, bool) (*os.File, error) { return nil, nil } //nolint:nilnil // there is nothing to close

// noFollow has no meaning here.
const noFollow = 0

// ownerOf returns the user whom a file belongs to, which is not known here.
func ownerOf(os.FileInfo) (uid int, ok bool) { return 0, false }

// accessible takes it for granted: what fails later says why.
func accessible(string, bool) error { return nil }

// fileIdentity returns nothing: only Linux has a journal.
func fileIdentity(os.FileInfo) (id string, ok bool) { return "", false }
