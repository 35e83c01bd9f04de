package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/core/store/atrest"
)

// Before its first migration a store is dumped, so that there is a way back to the program that wrote it. The dump has the
// first name until all migrations are recorded: a start that finds it was cut in a migration, and what it would dump now
// would be half migrated. There is one such dump at most, and it goes by age.
const (
	migratingDump = "migrating.dump"
	formerDump    = "before-migration.dump"
	formerLife    = 30 * 24 * time.Hour
)

// dumpCheckEvery is how many bytes of a dump are written between two looks at the free space.
const dumpCheckEvery = 8 << 20

// migrate brings the store to the present schema. One of an older schema is dumped before, unless Options say otherwise.
func (s *Store) migrate(ctx context.Context, steps []migration) error {
	have, err := readSchema(s.db)
	if err != nil {
		return err
	}
	s.sealFormer(ctx)
	want := schemaVersion(steps)
	if have > 0 && have < want { // its migration must see all that the former program wrote
		if err := s.finishLarge(s.db); err != nil {
			return err
		}
		if s.opts.Path != "" && !s.opts.NoMigrationDump {
			if err := s.dumpFormer(ctx, have, want); err != nil {
				return err
			}
		}
	}
	if err := migrate(ctx, watchedDB{s.db, s.opts.Migrating}, steps, s.log); err != nil {
		return s.wayBack(have, want, err)
	}
	return s.keepFormer()
}

// dumpFormer writes the dump, unless an interrupted migration left it.
func (s *Store) dumpFormer(ctx context.Context, have, want uint32) error {
	path := filepath.Join(s.opts.Path, migratingDump)
	switch _, err := os.Lstat(path); {
	case err == nil:
		s.log.Info("a migration that was interrupted goes on", "from", have, "to", want, "dump", path)
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	s.log.Info("the store is dumped before it is migrated", "from", have, "to", want)
	sum, err := s.writeFormer(ctx, path)
	if err != nil {
		return fmt.Errorf("dump the store before it is brought from schema version %d to %d: %w", have, want, err)
	}
	s.log.Info("the store was dumped", "dump", path, "records", sum.Records, "bytes", sum.Bytes)
	return nil
}

// writeFormer writes a dump that has its name only once it is whole and on disk.
func (s *Store) writeFormer(ctx context.Context, path string) (sum Summary, err error) {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return sum, err
	}
	sum, err = s.dumpSealed(ctx, &roomyWriter{s: s, f: f})
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return sum, errors.Join(err, os.Remove(temp))
	}
	return sum, syncPath(s.opts.Path)
}

// dumpSealed writes the dump, which is encrypted if the store is.
func (s *Store) dumpSealed(ctx context.Context, w io.Writer) (sum Summary, err error) {
	envelope, encrypted, err := s.FileEnvelope(ctx)
	if err != nil {
		return sum, err
	}
	txn := s.db.Snapshot()
	defer txn.Discard()
	if !encrypted {
		return dump(ctx, ctx, txn, w, s.opts.Migrating)
	}
	sealed, err := atrest.NewWriter(w, envelope)
	if err != nil {
		return sum, err
	}
	if sum, err = dump(ctx, ctx, txn, sealed, s.opts.Migrating); err != nil {
		return sum, err
	}
	return sum, sealed.Close()
}

// sealFormer encrypts the dumps that were made before the store was: nothing of an encrypted store lies beside it in clear. What
// fails is tried again by the next start.
func (s *Store) sealFormer(ctx context.Context) {
	if s.ring == nil || s.opts.Path == "" {
		return
	}
	for _, name := range []string{migratingDump, formerDump} {
		path := filepath.Join(s.opts.Path, name)
		if err := s.sealDump(ctx, path); err != nil {
			s.log.Error("a dump of before the store was encrypted is still in clear; the next start tries again", "dump", path, "error", err)
		}
	}
}

// sealDump puts an encrypted dump, of the same age, in the place of one in clear. One that is not there is no error.
func (s *Store) sealDump(ctx context.Context, path string) (err error) {
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read from
	info, err := in.Stat()
	if err != nil {
		return err
	}
	sealed, from, err := atrest.Sealed(in)
	if err != nil || sealed {
		return err
	}
	envelope, _, err := s.FileEnvelope(ctx)
	if err != nil {
		return err
	}
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	to, err := atrest.NewWriter(&roomyWriter{s: s, f: f}, envelope)
	if err == nil {
		if _, err = io.Copy(to, from); err == nil {
			err = to.Close()
		}
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		if err = os.Chtimes(temp, info.ModTime(), info.ModTime()); err == nil {
			err = os.Rename(temp, path)
		}
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncPath(s.opts.Path)
}

// roomyWriter writes to a file as long as the disk keeps what is to be left free.
type roomyWriter struct {
	s    *Store
	f    *os.File
	left int // until the next look
}

func (w *roomyWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		free, err := w.s.opts.DiskFree(w.s.opts.Path)
		if err != nil {
			return 0, err
		}
		if free < w.s.opts.MinFreeBytes+dumpCheckEvery {
			return 0, fmt.Errorf("%w: free some, or set store.dumpBeforeMigration: false if there is a backup", errFull)
		}
		w.left = dumpCheckEvery
	}
	return w.f.Write(p)
}

// keepFormer gives the dump of finished migrations its lasting name.
func (s *Store) keepFormer() error {
	if s.opts.Path == "" {
		return nil
	}
	err := os.Rename(filepath.Join(s.opts.Path, migratingDump), filepath.Join(s.opts.Path, formerDump))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // most stores have none
	}
	if err != nil {
		return err
	}
	return syncPath(s.opts.Path)
}

// FormerDump returns the path of the dump of the store as it was before the newest migration, "" where there is none. It has
// what was removed since, and goes 30 days after the migration.
func (s *Store) FormerDump() string {
	if s.opts.Path == "" {
		return ""
	}
	path := filepath.Join(s.opts.Path, formerDump)
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// dropFormer removes the dump once it is old. What is known of the clock was read before.
func (s *Store) dropFormer() {
	path := filepath.Join(s.opts.Path, formerDump)
	info, err := os.Lstat(path)
	if err != nil || !s.Older(info.ModTime(), formerLife) {
		return
	}
	if err := os.Remove(path); err != nil {
		s.log.Warn("the dump of before the migration is old and cannot be removed", "dump", path, "error", err)
		return
	}
	s.log.Info("the dump of before the migration is old and was removed", "dump", path)
}

// wayBack adds to the refusal of a newer store how to get back to one of this program.
func (s *Store) wayBack(have, want uint32, err error) error {
	former := s.FormerDump()
	if have <= want || former == "" {
		return err
	}
	return fmt.Errorf("%w; %s is the store as it was before the upgrade, for `wardroom store restore`", err, former)
}
