package cmd

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	agelib "filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core/backup"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// ageHeader is the first line of an encrypted archive.
const ageHeader = "age-encryption.org/v1\n"

// backupName matches the names that backup create gives to the archives of a directory, whose lexical order is their age as long as
// the clock is right; backupPart matches those of archives that are being written.
var (
	backupName = regexp.MustCompile(`^\.?wardroom-\d{8}T\d{6}Z\.backup(\.age)?$`)
	backupPart = regexp.MustCompile(`^wardroom-\d{8}T\d{6}Z\.backup(\.age)?\.part-\d+$`)
)

// partLife is the time without a write after which an archive is taken for one that was cut short.
const partLife = 24 * time.Hour

func (c *cli) backupCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "backup",
		Short: "Back up the running server of this machine, check backups and restore them",
		Long: "Back up the running server of this machine, check backups and restore them.\n\n" +
			"A backup is one file with the whole store at one moment, and with what belongs to it. The server goes on with its\n" +
			"work meanwhile. Of a server that does not run, `wardroom store dump` makes a copy.",
	})
	cmd.AddCommand(c.backupCreate(), c.backupVerify(), c.backupInspect(), c.backupRestore())
	return cmd
}

// backupAnswer is the JSON output of the backup commands.
type backupAnswer struct {
	File      string   `json:"file"`
	Bytes     int64    `json:"bytes"` // of the file
	Encrypted bool     `json:"encrypted"`
	Version   string   `json:"version,omitempty"` // of the server that it is of
	CreatedAt string   `json:"createdAt,omitempty"`
	StorePath string   `json:"storePath,omitempty"` // there
	Secrets   bool     `json:"secrets"`
	Schema    uint32   `json:"schema,omitempty"`
	Records   uint64   `json:"records,omitempty"`
	Files     []string `json:"files,omitempty"`
	Removed   []string `json:"removed,omitempty"` // older archives that went
	Directory string   `json:"directory,omitempty"`
}

func (a *backupAnswer) screen(verb string) func(s *screen) {
	return func(s *screen) {
		s.line("%s %s", verb, clean(a.File))
		secrets := "left out"
		if a.Secrets {
			secrets = "inside: keep the file as safe as the server"
		}
		encrypted := "no"
		if a.Encrypted {
			encrypted = "yes"
		}
		size := ""
		if a.Bytes > 0 {
			size = config.FormatSize(a.Bytes)
		}
		records := ""
		if a.Records > 0 {
			records = fmt.Sprint(a.Records)
		}
		s.fields("made", a.CreatedAt, "of version", a.Version, "records", records, "size", size, "encrypted", encrypted, "secrets", secrets,
			"files", clean(strings.Join(a.Files, ", ")), "into", clean(a.Directory), "removed", clean(strings.Join(a.Removed, ", ")))
	}
}

func (c *cli) backupCreate() *cobra.Command {
	var dir string
	var keep int
	var recipients []string
	var secrets, clear, force bool
	cmd := &cobra.Command{
		Use:   "create [FILE]",
		Short: "Back up the running server of this machine",
		Long: "Back up the running server of this machine to FILE, or to a new file in --dir. It appears once it is whole, on disk\n" +
			"and proved. With --recipient it is encrypted for that public key of age (age1...); without, a backup of an encrypted\n" +
			"store is encrypted by the store's master key, unless --clear is given.\n\n" +
			"The keys under which the store has secrets, and the configuration with its own, are left out of a backup unless it\n" +
			"is encrypted or --secrets asks for them. Without keys.pepper no API key is valid after a restore.",
		Example: "  wardroom backup create /backup/wardroom.backup\n  wardroom backup create --dir /var/backups/wardroom --keep 7 --recipient age1...",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (dir != "") {
				return usagef(cmd, "either FILE or --dir is needed")
			}
			if keep < 0 || keep > 0 && dir == "" {
				return usagef(cmd, "--keep is a number above 0, and goes with --dir")
			}
			to := make([]agelib.Recipient, 0, len(recipients))
			for _, text := range recipients {
				recipient, err := agelib.ParseX25519Recipient(text)
				if err != nil {
					return usagef(cmd, "--recipient: %q is no public key of age", text)
				}
				to = append(to, recipient)
			}
			file := filepath.Join(dir, "wardroom-"+c.now().UTC().Format("20060102T150405Z")+".backup")
			switch {
			case len(args) == 1:
				file = args[0]
			case len(to) > 0:
				file += ".age"
			}
			if err := mayWrite(file, force); err != nil {
				return err
			}
			s, err := c.admin()
			if err != nil {
				return err
			}
			answer, err := c.createBackup(cmd.Context(), s, file, to, secrets || len(to) > 0, !clear && len(to) == 0)
			if err == nil && keep > 0 {
				answer.Removed, err = removeBackups(dir, keep, filepath.Base(file))
			}
			if err != nil {
				return err
			}
			return c.showValue(answer, answer.screen("backed up to"))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "dir", "", "directory to make a new file in, whose name is the time")
	flags.IntVar(&keep, "keep", 0, "with --dir: keep so many backups of those that are there, and remove older ones; 0 keeps all")
	flags.StringArrayVar(&recipients, "recipient", nil, "public key of age to encrypt for; may be given more than once")
	flags.BoolVar(&secrets, "secrets", false, "take keys and secrets along without encryption")
	flags.BoolVar(&clear, "clear", false, "do not encrypt a backup of an encrypted store by its key")
	flags.BoolVar(&force, "force", false, "overwrite FILE")
	return cmd
}

// createBackup writes what the server sends, and proves it.
func (c *cli) createBackup(ctx context.Context, s *adminSocket, file string, to []agelib.Recipient, secrets, seal bool) (*backupAnswer, error) {
	sent, err := s.do(ctx, http.MethodGet, fmt.Sprintf("/admin/backup?secrets=%t&seal=%t", secrets, seal), nil)
	if err != nil {
		return nil, err
	}
	defer sent.Body.Close()
	envelope, sealed, err := envelopeOf(sent.Header.Get(wire.AdminSealHeader))
	if err != nil {
		return nil, err
	}
	answer := &backupAnswer{File: file, Encrypted: len(to) > 0 || sealed, Secrets: secrets}
	err = writeWhole(file, func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 256<<10)
		counted := &counter{next: out, show: c.bytesShown("backed up")}
		into := io.WriteCloser(nopCloser{counted})
		if len(to) > 0 {
			encrypted, err := agelib.Encrypt(counted, to...)
			if err != nil {
				return err
			}
			into = encrypted
		} else if sealed {
			if into, err = atrest.NewWriter(counted, envelope); err != nil {
				return err
			}
		}
		// What is written is proved as it comes: an encrypted file could not be read back here.
		passed := io.TeeReader(sent.Body, into)
		whole, sum, err := proveBackup(ctx, passed)
		if err == nil {
			_, err = io.Copy(io.Discard, passed) // to the end of the answer: one that was cut has none
		}
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &outcomeError{code: exitFailed, message: "the server did not send a whole backup: " + err.Error(), hint: "see its log"}
		}
		answer.about(whole, sum)
		err = errors.Join(into.Close(), out.Flush())
		answer.Bytes = counted.bytes
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// envelopeOf reads what the server wants a backup to be encrypted by; ok is false when its store is in clear.
func envelopeOf(header string) (e atrest.Envelope, ok bool, err error) {
	if header == "" {
		return e, false, nil
	}
	text, err := base64.StdEncoding.DecodeString(header)
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err != nil {
		return e, false, &outcomeError{code: exitFailed, message: "the server sent an envelope that cannot be read", hint: "use the command line of its version"}
	}
	return e, true, nil
}

func (a *backupAnswer) about(c *backup.Contents, sum store.Summary) {
	a.Version, a.CreatedAt = c.Meta.Version, c.Meta.CreatedAt.UTC().Format(time.RFC3339)
	a.StorePath, a.Secrets, a.Files, a.Schema, a.Records = c.Meta.StorePath, c.Meta.Secrets, c.Meta.Files, sum.Schema, sum.Records
}

// proveBackup reads an archive to its end: its checksums are right, and so are those of the dump in it.
func proveBackup(ctx context.Context, r io.Reader) (*backup.Contents, store.Summary, error) {
	dump, into := io.Pipe()
	type proved struct {
		sum store.Summary
		err error
	}
	done := make(chan proved, 1)
	go func() {
		sum, err := store.Verify(dump, nil)
		_ = dump.CloseWithError(err) // the reader of the archive need not go on
		done <- proved{sum, err}
	}()
	whole, err := backup.Read(ctx, r, into)
	_ = into.CloseWithError(err)
	p := <-done
	if err == nil {
		err = p.err
	}
	return whole, p.sum, err
}

// removeBackups removes the oldest archives of a directory beyond keep, and what one that was cut short has left there, and returns
// their names. The newest is made, which stays.
func removeBackups(dir string, keep int, made string) (removed []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names, gone []string
	for _, entry := range entries {
		switch name := entry.Name(); {
		case !entry.Type().IsRegular():
		case backupName.MatchString(name):
			names = append(names, name)
		case backupPart.MatchString(name):
			// The file has the time of the system, which the test's clock does not change.
			if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > partLife {
				gone = append(gone, name)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		// What seems to be made after the newest was named while the clock was wrong, or is wrong now: it is older in any case.
		if late := a > made; late != (b > made) {
			if late {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, name := range append(gone, names[:max(0, len(names)-keep)]...) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return removed, err
		}
		removed = append(removed, name)
	}
	return removed, nil
}

// backupFlags are those of commands that read an archive.
type backupFlags struct {
	identity string
	keys     *keyFlags
}

// register adds the flags, and those of the store key unless keys has them already.
func (f *backupFlags) register(cmd *cobra.Command, keys *keyFlags) {
	if f.keys = keys; keys == nil {
		f.keys = new(keyFlags)
		f.keys.register(cmd, "configuration file with the store key of an encrypted backup")
	}
	cmd.Flags().StringVar(&f.identity, "identity", "", "file with the secret key of age that an encrypted backup is for")
}

// open opens an archive, decrypted.
func (f *backupFlags) open(ctx context.Context, c *cli, path string) (r io.Reader, encrypted bool, end func(), err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, false, nil, fileError(err)
	}
	in := bufio.NewReaderSize(file, 256<<10)
	end = func() { _ = file.Close() } // only read from
	if begin, _ := in.Peek(len(ageHeader)); string(begin) != ageHeader {
		plain, encrypted, err := c.unseal(ctx, in, path, f.keys)
		if err != nil {
			end()
			return nil, encrypted, nil, err
		}
		return plain, encrypted, end, nil
	}
	plain, err := f.decrypt(path, in)
	if err != nil {
		end()
		return nil, true, nil, err
	}
	return plain, true, end, nil
}

func (f *backupFlags) decrypt(path string, in io.Reader) (io.Reader, error) {
	if f.identity == "" {
		return nil, &usageError{message: path + " is encrypted", hint: "name the file with the secret key of age: --identity FILE"}
	}
	key, err := os.Open(f.identity)
	if err != nil {
		return nil, fileError(err)
	}
	defer key.Close()
	identities, err := agelib.ParseIdentities(key)
	if err != nil {
		return nil, &usageError{message: f.identity + " holds no secret key of age"}
	}
	plain, err := agelib.Decrypt(in, identities...)
	if err != nil {
		var other *agelib.NoIdentityMatchError
		if errors.As(err, &other) {
			return nil, &usageError{message: path + " is encrypted for another key than that in " + f.identity}
		}
		return nil, &usageError{message: path + ": the encryption is damaged: " + err.Error()}
	}
	return plain, nil
}

func (c *cli) backupVerify() *cobra.Command {
	var flags backupFlags
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Prove that a backup is whole and can be restored by this program",
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := c.readBackup(cmd.Context(), &flags, args[0])
			if err != nil {
				return err
			}
			return c.showValue(answer, answer.screen("whole:"))
		},
	}
	flags.register(cmd, nil)
	return cmd
}

func (c *cli) readBackup(ctx context.Context, flags *backupFlags, path string) (*backupAnswer, error) {
	r, encrypted, end, err := flags.open(ctx, c, path)
	if err != nil {
		return nil, err
	}
	defer end()
	answer := &backupAnswer{File: path, Encrypted: encrypted}
	if info, err := os.Stat(path); err == nil {
		answer.Bytes = info.Size()
	}
	whole, sum, err := proveBackup(ctx, r)
	if err != nil {
		return nil, backupError(path, err)
	}
	if newest := store.SchemaVersion(); sum.Schema > newest {
		return nil, &usageError{message: fmt.Sprintf("%s: its store has schema version %d, and this program knows versions up to %d", path, sum.Schema, newest),
			hint: "use the version of wardroom that made it, or a later one"}
	}
	answer.about(whole, sum)
	return answer, nil
}

// backupError makes an archive that is damaged, foreign or too new an input that is not valid.
func backupError(path string, err error) error {
	switch {
	case errors.Is(err, backup.ErrNewer):
		return &usageError{message: path + ": " + err.Error(), hint: "use the version of wardroom that made it, or a later one"}
	case errors.Is(err, backup.ErrForeign):
		return &usageError{message: path + ": " + err.Error(), hint: "`wardroom store verify` and `wardroom store restore` read what `wardroom store dump` made"}
	case errors.Is(err, backup.ErrArchive), errors.Is(err, store.ErrDump), errors.Is(err, atrest.ErrFile), errors.Is(err, atrest.ErrKey):
		return &usageError{message: path + ": " + err.Error()}
	}
	return err
}

func (c *cli) backupInspect() *cobra.Command {
	var flags backupFlags
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show what a backup says of itself, without proving it",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, encrypted, end, err := flags.open(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			defer end()
			meta, err := backup.ReadMeta(r)
			if err != nil {
				return backupError(args[0], err)
			}
			answer := &backupAnswer{File: args[0], Encrypted: encrypted}
			if info, err := os.Stat(args[0]); err == nil {
				answer.Bytes = info.Size()
			}
			answer.about(&backup.Contents{Meta: meta}, store.Summary{})
			return c.showValue(answer, answer.screen("backup"))
		},
	}
	flags.register(cmd, nil)
	return cmd
}

// counter counts what is written.
type counter struct {
	next  io.Writer
	bytes int64
	shown int64
	show  func(int64) // nil if no progress is shown
}

func (w *counter) Write(p []byte) (int, error) {
	n, err := w.next.Write(p)
	w.bytes += int64(n)
	if w.show != nil && w.bytes-w.shown >= 8<<20 {
		w.shown = w.bytes
		w.show(w.bytes)
	}
	return n, err
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// bytesShown returns a progress callback that counts on a terminal, and nil anywhere else.
func (c *cli) bytesShown(verb string) func(int64) {
	if !c.knowsSequences(c.deps.Stderr) {
		return nil
	}
	return func(n int64) { fmt.Fprintf(c.deps.Stderr, "\r"+clearLine+"%s %s\r", config.FormatSize(n), verb) }
}
