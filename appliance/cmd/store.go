package cmd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/store"
)

func (c *cli) storeCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "store",
		Short: "Back up, restore, check and repair the data of a server that is not running",
	})
	cmd.AddCommand(c.storeDump(), c.storeVerify(), c.storeRestore(), c.storeCheck(), c.storeRepair(), c.storeUsage())
	return cmd
}

// storeFlags say where the store is.
type storeFlags struct{ dataDir, config string }

func (f *storeFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dataDir, "data-dir", "", "the folder in store.path, or the --data-dir of dev")
	cmd.Flags().StringVar(&f.config, "config", "", "configuration file whose store.path is meant")
	exclusive(cmd, "data-dir", "config")
}

// path returns the named folder.
func (f *storeFlags) path(cmd *cobra.Command) (string, error) {
	switch {
	case f.dataDir != "":
		return f.dataDir, nil
	case f.config != "":
		cfg, err := config.Load(f.config, config.Options{})
		if err != nil {
			return "", err
		}
		return cfg.Store.Path, nil
	}
	return "", usagef(cmd, "--data-dir or --config is missing")
}

// existing returns the folder if it holds a store: opening would make one where there is none.
func (f *storeFlags) existing(cmd *cobra.Command) (string, error) {
	dir, err := f.path(cmd)
	if err != nil {
		return "", err
	}
	for _, candidate := range []string{dir, filepath.Join(dir, storeFolder)} {
		if _, err := os.Stat(filepath.Join(candidate, "MANIFEST")); err == nil {
			return candidate, nil
		}
	}
	return "", &usageError{message: fmt.Sprintf("%s holds no store", dir)}
}

// storeFolder is where the development server keeps the store below its data folder.
const storeFolder = "store"

func (c *cli) storeDump() *cobra.Command {
	var flags storeFlags
	var force bool
	cmd := &cobra.Command{
		Use:   "dump FILE --data-dir DIR",
		Short: "Write all data to a file, checksummed",
		Long: "Write all data to FILE (- writes stdout). The server must not run on the folder. FILE appears only once\n" +
			"it is whole and on disk.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := flags.existing(cmd)
			if err != nil {
				return err
			}
			if _, err := os.Stat(args[0]); err == nil && args[0] != "-" && !force {
				return &usageError{message: args[0] + " exists", hint: "overwrite it with --force"}
			}
			sum, err := c.dump(cmd.Context(), dir, args[0])
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
	return cmd
}

func (c *cli) dump(ctx context.Context, dir, file string) (sum store.Summary, err error) {
	s, err := store.Open(ctx, store.Options{Path: dir})
	if err != nil {
		return sum, inUse(err)
	}
	defer func() { err = errors.Join(err, s.Close(), ownAs(dir, dir)) }()
	if file == "-" {
		return s.Dump(ctx, c.deps.Stdout, c.records("dumped"))
	}
	err = writeWhole(file, func(w io.Writer) (err error) {
		sum, err = s.Dump(ctx, w, c.records("dumped"))
		return err
	})
	return sum, err
}

// inUse makes a store that another process holds a conflict.
func inUse(err error) error {
	if e := core.AsError(err); e.Code == core.CodeConflict {
		return &outcomeError{code: exitConflict, message: e.Message, hint: "stop the server first"}
	}
	return err
}

// writeWhole makes a file that is either whole and on disk, or not there.
func writeWhole(file string, write func(io.Writer) error) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".part-")
	if err != nil {
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
	parent, openErr := os.Open(filepath.Dir(file))
	if openErr != nil {
		return nil // the file is whole; only the age of its name is in doubt
	}
	return errors.Join(parent.Sync(), parent.Close())
}

func (c *cli) storeVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE",
		Short: "Prove that a dump is whole",
		RunE: func(_ *cobra.Command, args []string) error {
			in, err := c.openFile(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			sum, err := store.Verify(in, c.records("checked"))
			if err != nil {
				return dumpError(args[0], err)
			}
			return c.showSummary("whole:", args[0], sum)
		},
	}
}

func (c *cli) storeRestore() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "restore FILE --data-dir DIR",
		Short: "Make a store from a dump, in an empty folder",
		Long: "Make a store in DIR from the dump in FILE (- reads stdin). DIR must be empty or not exist; it gets its\n" +
			"content at once, after the dump proved whole.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := flags.path(cmd)
			if err != nil {
				return err
			}
			if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
				return &outcomeError{
					code:    exitConflict,
					message: dir + " is not empty",
					hint:    "restore into a new folder, then let store.path name it",
				}
			}
			in, err := c.openFile(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			sum, err := store.Restore(cmd.Context(), in, dir, c.records("restored"))
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
		return io.NopCloser(c.deps.Stdin), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(err)
	}
	return f, nil
}

// dumpError makes a damaged dump an input that is not valid.
func dumpError(file string, err error) error {
	if errors.Is(err, store.ErrDump) {
		return &usageError{message: file + ": " + err.Error()}
	}
	return err
}

// records returns a progress callback that counts on a terminal, and nil anywhere else.
func (c *cli) records(verb string) func(uint64) {
	if !isTerminal(c.deps.Stderr) {
		return nil
	}
	return func(n uint64) { fmt.Fprintf(c.deps.Stderr, "\r\x1b[K%d records %s\r", n, verb) }
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
