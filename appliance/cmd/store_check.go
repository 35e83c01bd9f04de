package cmd

import (
	"bytes"

	"io"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core/store"
)

// maxShownBroken is how many records a check lists on the screen; JSON has all of them.
const maxShownBroken = 100

// checkAnswer is printed by a check or a repair of a store.
type checkAnswer struct {
	Well    bool               `json:"well"`
	Records int64              `json:"records"`
	Broken  int64              `json:"broken"`
	Orphans int64              `json:"orphans"`
	Entries int64              `json:"entries"`
	Export  string             `json:"export,omitempty"`
	List    []brokenAnswerLine `json:"list"`
}

type brokenAnswerLine struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Reason string `json:"reason"`
	Bytes  int    `json:"bytes"`
	Key    string `json:"key"`
}

func (c *cli) storeCheck() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "check --data-dir DIR",
		Short: "List records that cannot be read, and indexes that do not agree with the records",
		Long: "Read all records of a store and list those that cannot be read, those that belong to a record which is not\n" +
			"there, and indexes and counts that do not agree with the records. The server must not run on the folder.\n" +
			"Nothing is changed. The exit code is 1 if there is something to repair.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := flags.open(c, cmd)
			if err != nil {
				return err
			}
			list := []brokenAnswerLine{}
			opts := store.CheckOptions{Path: at.Path, Encryption: at.Encryption, Progress: c.records("checked"), Found: collectBroken(&list)}
			report, err := store.Check(cmd.Context(), opts)
			if err != nil {
				return notOpened(at.Path, err)
			}
			if err := c.showStoreCheck(report, list, ""); err != nil || report.Well() {
				return err
			}
			return &outcomeError{
				code: exitFailed, message: at.Path + " needs a repair",
				hint: "`wardroom store repair --export FILE` keeps a copy of what it removes",
			}
		},
	}
	flags.register(cmd)
	return cmd
}

func (c *cli) storeRepair() *cobra.Command {
	var flags storeFlags
	var export string
	var force bool
	cmd := &cobra.Command{
		Use:   "repair --export FILE --data-dir DIR",
		Short: "Remove records that cannot be read, and make indexes anew",
		Long: "Remove the records that cannot be read, with what belongs to them, and make indexes and counts anew. Each such\n" +
			"record is written to FILE first, as a line of JSON with its key and its bytes. The server must not run on the\n" +
			"folder; make a dump before, if there is room for it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if export == "" {
				return usagef(cmd, "--export is missing: it names the file that gets a copy of what is removed")
			}
			at, err := flags.open(c, cmd)
			if err != nil {
				return err
			}
			if err := mayWrite(export, force); err != nil {
				return err
			}
			list := []brokenAnswerLine{}
			opts := store.CheckOptions{Path: at.Path, Encryption: at.Encryption, Progress: c.records("checked"), Found: collectBroken(&list)}
			var lines bytes.Buffer
			report, err := store.Repair(cmd.Context(), opts, &lines, func() error {
				return writeWhole(export, func(w io.Writer) error {
					_, err := lines.WriteTo(w)
					return err
				})
			})
			if err != nil {
				return notOpened(at.Path, err)
			}
			return c.showStoreCheck(report, list, export)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&export, "export", "", "the file that gets a copy of each record that is removed")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite the file")
	return cmd
}

func collectBroken(list *[]brokenAnswerLine) func(store.Finding) {
	return func(f store.Finding) {
		*list = append(*list, brokenAnswerLine{f.Kind, f.ID, f.Reason, len(f.Value), f.Key})
	}
}

func (c *cli) showStoreCheck(r store.Report, list []brokenAnswerLine, export string) error {
	repaired := export != ""
	return c.showValue(checkAnswer{r.Well() || repaired, r.Records, r.Broken, r.Orphans, r.Entries, export, list}, func(s *screen) {
		var rows [][]cell
		for _, b := range list[:min(len(list), maxShownBroken)] {
			rows = append(rows, plain(b.Kind, b.ID, bytesText(int64(b.Bytes)), b.Reason))
		}
		if len(rows) > 0 {
			s.table([]string{"KIND", "ID", "SIZE", "REASON"}, rows)
		}
		if more := len(list) - len(rows); more > 0 {
			s.line("and %d more: -o json lists all", more)
		}
		switch {
		case repaired:
			s.line("%d records cannot be read and were removed, with %d that belonged to such; %d index entries were made anew",
				r.Broken, r.Orphans, r.Entries)
			s.line("a copy of them is in %s", clean(export))
		case r.Well():
			s.line("%d records, all well", r.Records)
		default:
			s.line("%d records: %d cannot be read, %d belong to none, %d index entries are wrong", r.Records, r.Broken, r.Orphans, r.Entries)
		}
	})
}
