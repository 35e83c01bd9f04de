package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core/backup"
	"github.com/wardroom/wardroom/core/store"
)

func (c *cli) backupRestore() *cobra.Command {
	var flags backupFlags
	var place storeFlags
	var files string
	cmd := &cobra.Command{
		Use:   "restore FILE --data-dir DIR",
		Short: "Make a store from a backup, in an empty directory",
		Long: "Make a store in DIR from the backup in FILE. DIR must be empty or not exist; it gets its content at once, after the\n" +
			"backup proved whole, and with the owner that it, or else the directory above it, has. Keys that the backup holds\n" +
			"are put into place; its configuration is written to --files, where that is given.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := place.path(cmd)
			if err != nil {
				return err
			}
			if dir, err = restorePlace(dir); err != nil {
				return err
			}
			if files != "" {
				if files, err = filesPlace(files, dir); err != nil {
					return err
				}
			}
			// The whole file is proved before anything is made of it.
			answer, err := c.readBackup(cmd.Context(), &flags, args[0])
			if err != nil {
				return err
			}
			if err := c.restoreBackup(cmd.Context(), &flags, args[0], dir, files); err != nil {
				return backupError(args[0], err)
			}
			answer.Directory = dir
			return c.showValue(answer, func(s *screen) {
				answer.screen("restored from")(s)
				if !answer.Secrets {
					s.line("")
					s.line("The backup has no keys: no API key is valid, and secrets of webhooks need to be set anew.")
					s.line("Make a key with: wardroom auth create-key --config FILE --name admin --scopes admin")
				}
			})
		},
	}
	flags.register(cmd, &place.keyFlags)
	place.register(cmd)
	cmd.Flags().StringVar(&files, "files", "", "new directory for the configuration and other files of the backup")
	return cmd
}

// restoreBackup makes a store at dir from the backup in a file, and puts its other files into the directory files, which
// restorePlace returned, unless that is "". When it fails, both are as empty as they were.
func (c *cli) restoreBackup(ctx context.Context, flags *backupFlags, path, dir, files string) error {
	r, _, end, err := flags.open(ctx, c, path)
	if err != nil {
		return err
	}
	defer end()
	encryption, err := flags.keys.encryption(c)
	if err != nil {
		return err
	}
	filled := false
	err = restoreAt(dir, func(temp string) error {
		whole, err := unpackBackup(ctx, r, temp, encryption, c.records("restored"))
		if err != nil {
			return err
		}
		for _, f := range whole.Files {
			if key, ok := keyOf(f); ok {
				if err := writeDurably(filepath.Join(temp, key), f.Data); err != nil {
					return err
				}
			}
		}
		if files == "" {
			return nil
		}
		err = restoreAt(files, func(temp string) error { return placeFiles(temp, whole.Files) })
		filled = err == nil
		return err
	})
	if err != nil && filled {
		err = errors.Join(err, empty(files))
	}
	return err
}

// keyOf returns the name of the key that a file of a backup is; false for any other.
func keyOf(f backup.File) (string, bool) {
	key, ok := strings.CutPrefix(f.Name, "keys/")
	return key, ok && !strings.Contains(key, "/")
}

// placeFiles makes the files of a backup that are no keys, below a new directory.
func placeFiles(dir string, list []backup.File) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, f := range list {
		if _, ok := keyOf(f); ok {
			continue
		}
		if err := writeDurably(filepath.Join(dir, filepath.FromSlash(f.Name)), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// unpackBackup makes a store at dir from the dump in an archive.
func unpackBackup(ctx context.Context, r io.Reader, dir string, encryption *store.Encryption, progress func(uint64)) (*backup.Contents, error) {
	dump, into := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := store.Restore(ctx, dump, dir, encryption, progress)
		_ = dump.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // the reader of the archive need not go on
		done <- err
	}()
	whole, err := backup.Read(ctx, r, into)
	_ = into.CloseWithError(err)
	if failed := <-done; failed != nil && (err == nil || errors.Is(err, io.ErrClosedPipe)) {
		err = failed
	}
	return whole, err
}

// writeDurably makes a file that only its owner can read, and its directories.
func writeDurably(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
