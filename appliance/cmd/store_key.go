package cmd

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) storeKey() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "key",
		Short: "Make the master key of an encrypted store, and change the keys of a running one",
	})
	cmd.AddCommand(c.storeKeyNew(), c.storeKeyRotate())
	return cmd
}

func (c *cli) storeKeyNew() *cobra.Command {
	var add bool
	cmd := &cobra.Command{
		Use:   "new FILE",
		Short: "Make a master key for an encrypted store",
		Long: "Make a master key in FILE, which only its owner can read, and show its id. security.encryption.atRest.file names the\n" +
			"file. Keep a copy apart from the store: without the key nobody can read the store or its backups.\n\n" +
			"With --add the new key is put before those that FILE has, so that what they encrypted can still be read. After\n" +
			"`wardroom store key rotate` the store needs the new one only; older dumps and backups need the others.",
		RunE: func(_ *cobra.Command, args []string) error {
			path := args[0]
			old, err := os.ReadFile(path)
			switch {
			case errors.Is(err, fs.ErrNotExist) && add:
				return &usageError{message: path + " is not there", hint: "leave --add out to make it"}
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return fileError(err)
			case !add:
				return &outcomeError{code: exitConflict, message: path + " exists", hint: "put another key before those in it with --add"}
			default:
				if _, err := atrest.ParseMasterKeys(old); err != nil {
					return &usageError{message: path + ": " + err.Error()}
				}
			}
			key := atrest.NewMasterKey()
			text := "# Master key of a Wardroom store, id " + key.ID() + ". Keep it secret, and a copy of it apart from the store.\n" + key.Text() + "\n"
			if err := writeKey(path, text+string(old)); err != nil {
				return err
			}
			return c.showValue(struct {
				File  string `json:"file"`
				KeyID string `json:"keyId"`
			}{path, key.ID()}, func(s *screen) {
				s.line("made key %s in %s", key.ID(), clean(path))
			})
		},
	}
	cmd.Flags().BoolVar(&add, "add", false, "put the key before those in FILE")
	return cmd
}

// writeKey makes a file of mode 0600, or replaces one with its owner kept. The temporary file, which holds the keys as well,
// has a name of its own, so that the next try removes one that a crash has left.
func writeKey(path, text string) (err error) {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fileError(err)
	}
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp) // gone already where only its new name could not be made durable
		}
	}()
	if err := writeDurably(temp, []byte(text)); err != nil {
		return fileError(err)
	}
	if _, err := os.Stat(path); err == nil {
		if err := ownAs(temp, path); err != nil {
			return err
		}
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncName(path)
}

func (c *cli) storeKeyRotate() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Change the keys of the running server's encrypted store",
		Long: "Make a new data key for everything that the store writes from now on, wrap all data keys by the first master key of\n" +
			"its source, and have all records sealed anew in the background, which `wardroom status` shows. The server goes on\n" +
			"with its work. This works on the machine of the server.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.admin()
			if err != nil {
				return err
			}
			text, err := s.read(cmd.Context(), http.MethodPost, "/admin/store/key/rotate", nil)
			if err != nil {
				return err
			}
			var answer wire.AdminStoreKey
			if err := json.Unmarshal(text, &answer); err != nil {
				return err
			}
			return c.showValue(answer, func(screen *screen) {
				screen.line("records are sealed by data key %d from now on, and it is wrapped by master key %s", answer.DataKey, answer.MasterKey)
				screen.line("those that are there follow in the background: see `wardroom status`")
			})
		},
	}
}
