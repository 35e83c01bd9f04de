package cmd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/atrest"
)

func (c *cli) storeCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "store",
		Short: "Back up, restore, check and repair the data of a server that is not running, and make its keys",
	})
	cmd.AddCommand(c.storeDump(), c.storeVerify(), c.storeRestore(), c.storeCheck(), c.storeRepair(), c.storeUsage(), c.storeKey())
	return cmd
}

// storeFlags say where the store is.
type storeFlags struct {
	dataDir string
	keyFlags
}

func (f *storeFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dataDir, "data-dir", "", "the folder in store.path, or the --data-dir of dev")
	f.keyFlags.register(cmd, "configuration file whose store.path is meant, and whose store key")
	exclusive(cmd, "data-dir", "config")
}

// keyFlags say what opens a store, a dump or a backup that is encrypted.
type keyFlags struct{ config, key string }

func (f *keyFlags) register(cmd *cobra.Command, config string) {
	cmd.Flags().StringVar(&f.config, "config", "", config)
	cmd.Flags().StringVar(&f.key, "store-key", "", "file with the master key of an encrypted store")
}

// encryption returns what the flags name; nil when they name no key.
func (f *keyFlags) encryption(c *cli) (*store.Encryption, error) {
	if f.key != "" {
		return &store.Encryption{Source: atrest.FromFile(f.key, "")}, nil
	}
	if f.config == "" {
		return nil, nil
	}
	cfg, err := loadConfig(f.config)
	if err != nil {
		return nil, err
	}
	return c.location(cfg).Encryption, nil
}

// path returns the named folder.
func (f *storeFlags) path(cmd *cobra.Command) (string, error) {
	switch {
	case f.dataDir != "":
		return f.dataDir, nil
	case f.config != "":
		cfg, err := loadConfig(f.config)
		if err != nil {
			return "", err
		}
		return cfg.Store.Path, nil
	}
	return "", usagef(cmd, "--data-dir or --config is missing")
}

// open returns the existing folder with what opens it.
func (f *storeFlags) open(c *cli, cmd *cobra.Command) (at store.Location, err error) {
	if at.Path, err = f.existing(cmd); err != nil {
		return at, err
	}
	at.Encryption, err = f.encryption(c)
	return at, err
}

// existing returns the folder if it holds a store: opening would make one where there is none.
func (f *storeFlags) existing(cmd *cobra.Command) (string, error) {
	dir, err := f.path(cmd)
	if err != nil {
		return "", err
	}
	for _, candidate := range []string{dir, filepath.Join(dir, storeFolder)} {
		switch _, err := os.Stat(filepath.Join(candidate, storeManifest)); {
		case err == nil:
			return candidate, nil
		case errors.Is(err, fs.ErrPermission):
			return "", denied(err)
		}
	}
	return "", &usageError{message: fmt.Sprintf("%s holds no store", dir)}
}

// storeManifest is the file that a folder with a store has.
const storeManifest = "MANIFEST"

// storeFolder is where the development server keeps the store below its data folder.
const storeFolder = "store"

func (c *cli) storeDump() *cobra.Command {
	var flags storeFlags
	var force, clear bool
	cmd := &cobra.Command{
		Use:   "dump FILE --data-dir DIR",
		Short: "Write all data to a file, checksummed",
		Long: "Write all data to FILE (- writes stdout). The server must not run on the folder. FILE appears only once\n" +
			"it is whole and on disk. Of an encrypted store it is encrypted by the same master key.",
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := flags.open(c, cmd)
			if err != nil {
				return err
			}
			if args[0] != "-" {
				if err := mayWrite(args[0], force); err != nil {
					return err
				}
			}
			sum, err := c.dump(cmd.Context(), at, args[0], clear)
			if err != nil {
				return err
			}
			if args[0] == "-" {
				return nil // stdout holds the dump
			}
			return c.showSummary("dumped to", args[0], sum)
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "overwrite FILE")
	cmd.Flags().BoolVar(&clear, "clear", false, "do not encrypt FILE, though the store is")
	return cmd
}

func (c *cli) dump(ctx context.Context, at store.Location, file string, clear bool) (sum store.Summary, err error) {
	dir := at.Path
	if _, err := os.Stat(filepath.Join(dir, store.RingFile)); errors.Is(err, fs.ErrNotExist) {
		at.Encryption = nil // a dump does not encrypt a store in clear
	}
	s, err := store.Open(ctx, store.Options{Path: dir, Encryption: at.Encryption})
	if err != nil {
		return sum, notOpened(dir, err)
	}
	defer func() { err = errors.Join(err, s.Close(), ownAs(dir, dir)) }()
	dump := func(w io.Writer) (err error) {
		envelope, encrypted, err := s.FileEnvelope(ctx)
		if err != nil {
			return err
		}
		if !encrypted || clear {
			sum, err = s.Dump(ctx, w, c.records("dumped"))
			return err
		}
		sealed, err := atrest.NewWriter(w, envelope)
		if err != nil {
			return err
		}
		if sum, err = s.Dump(ctx, sealed, c.records("dumped")); err != nil {
			return err
		}
		return sealed.Close()
	}
	if file == "-" {
		return sum, dump(c.deps.Stdout)
	}
	return sum, writeWhole(file, dump)
}

// notOpened returns what to do about a store that was not opened: another process holds it, it is encrypted and no key was named, or
// the caller has no right to its files.
func notOpened(dir string, err error) error {
	switch e := core.AsError(err); {
	case e.Code == core.CodeConflict:
		return &outcomeError{code: exitConflict, message: e.Message, hint: "stop the server first"}
	case errors.Is(err, store.ErrEncrypted):
		return &outcomeError{code: exitFailed, message: "the store in " + dir + " is encrypted", hint: nameKey, cause: err}
	}
	return denied(err)
}

// nameKey is what to type where something is encrypted by the key of a store, and none was named.
const nameKey = "name the file with the key: --store-key FILE, or the configuration that names it: --config FILE"

// denied adds to an error about a file of the service that the caller has no right to it, and who has.
func denied(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &outcomeError{code: exitAuth, message: err.Error(), hint: "try again with sudo, or as the user of the service", cause: err}
	}
	return err
}

// mayWrite refuses a file that exists, unless it is to be overwritten, and what is no file: it would be replaced by one.
func mayWrite(file string, force bool) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return &usageError{message: file + " is not a regular file", hint: "name a file that does not exist yet"}
	}
	if _, err := os.Lstat(file); err == nil && !force {
		return &outcomeError{code: exitConflict, message: file + " exists", hint: "overwrite it with --force"}
	}
	return nil
}

// writeWhole makes a file that is either whole and on disk, or not there. Until then its part is hidden from what looks for files.
func writeWhole(file string, write func(io.Writer) error) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".part-")
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			path.Path = filepath.Dir(file) // which is where it fails, and not a name that was never given
		}
		return fileError(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	if err = write(temp); err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err = os.Rename(temp.Name(), file); err != nil {
		return err
	}
	return syncName(file)
}

// syncName makes the name of a file durable.
func syncName(file string) error {
	parent, openErr := os.Open(filepath.Dir(file))
	if openErr != nil {
		return nil // the file is whole; only the age of its name is in doubt
	}
	return errors.Join(parent.Sync(), parent.Close())
}

func (c *cli) storeVerify() *cobra.Command {
	var flags keyFlags
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Prove that a dump is whole",
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := c.openFile(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			plain, _, err := c.unseal(cmd.Context(), in, args[0], &flags)
			if err != nil {
				return err
			}
			sum, err := store.Verify(plain, c.records("checked"))
			if err != nil {
				return dumpError(args[0], err)
			}
			return c.showSummary("whole:", args[0], sum)
		},
	}
	flags.register(cmd, "configuration file with the store key of an encrypted dump")
	return cmd
}

// unseal returns what is in a dump or backup, which may be encrypted by a store key, and whether it is.
func (c *cli) unseal(ctx context.Context, in io.Reader, file string, flags *keyFlags) (io.Reader, bool, error) {
	encrypted, in, err := atrest.Sealed(in)
	if err != nil || !encrypted {
		return in, encrypted, err
	}
	key, err := flags.encryption(c)
	if err != nil {
		return nil, true, err
	}
	if key == nil {
		return nil, true, &usageError{message: file + " is encrypted by the key of a store", hint: nameKey}
	}
	plain, err := atrest.NewReader(ctx, in, key.Source)
	if err != nil {
		return nil, true, dumpError(file, err)
	}
	return plain, true, nil
}

func (c *cli) storeRestore() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "restore FILE --data-dir DIR",
		Short: "Make a store from a dump, in an empty folder",
		Long: "Make a store in DIR from the dump in FILE (- reads stdin). DIR must be empty or not exist; it gets its\n" +
			"content at once, after the dump proved whole, and with the owner that it, or else the directory above it, has. With\n" +
			"--store-key, or a --config that encrypts the store, the store is encrypted; an encrypted dump needs its key.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := flags.path(cmd)
			if err != nil {
				return err
			}
			if dir, err = restorePlace(dir); err != nil {
				return err
			}
			in, err := c.openFile(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			plain, _, err := c.unseal(cmd.Context(), in, args[0], &flags.keyFlags)
			if err != nil {
				return err
			}
			encryption, err := flags.encryption(c)
			if err != nil {
				return err
			}
			var sum store.Summary
			err = restoreAt(dir, func(temp string) (err error) {
				sum, err = store.Restore(cmd.Context(), plain, temp, encryption, c.records("restored"))
				return err
			})
			if err != nil {
				return dumpError(args[0], err)
			}
			return c.showSummary("restored from", args[0], sum)
		},
	}
	flags.register(cmd)
	return cmd
}

// openFile opens a file, or stdin for "-".
func (c *cli) openFile(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(c.stdin()), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(err)
	}
	return f, nil
}

// dumpError makes a damaged dump an input that is not valid.
func dumpError(file string, err error) error {
	if errors.Is(err, store.ErrForeign) {
		return &usageError{message: file + ": " + err.Error(), hint: "`wardroom backup verify` and `wardroom backup restore` read what `wardroom backup create` made"}
	}
	if errors.Is(err, store.ErrDump) || errors.Is(err, atrest.ErrFile) || errors.Is(err, atrest.ErrKey) {
		return &usageError{message: file + ": " + err.Error()}
	}
	return err
}

// records returns a progress callback that counts on a terminal, and nil anywhere else.
func (c *cli) records(verb string) func(uint64) {
	if !c.knowsSequences(c.deps.Stderr) {
		return nil
	}
	return func(n uint64) { fmt.Fprintf(c.deps.Stderr, "\r"+clearLine+"%d records %s\r", n, verb) }
}

func (c *cli) showSummary(verb, file string, sum store.Summary) error {
	return c.showValue(struct {
		File    string `json:"file"`
		Schema  uint32 `json:"schema"`
		Records uint64 `json:"records"`
		Bytes   int64  `json:"bytes"`
		SHA256  string `json:"sha256"`
	}{file, sum.Schema, sum.Records, sum.Bytes, hex.EncodeToString(sum.SHA256[:])}, func(s *screen) {
		s.line("%s %s", verb, clean(file))
		s.fields("schema", sum.Schema, "records", sum.Records, "bytes", sum.Bytes, "sha256", hex.EncodeToString(sum.SHA256[:]))
	})
}
