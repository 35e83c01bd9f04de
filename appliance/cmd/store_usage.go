package cmd

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/store"
)

// usageLine is what one kind of records takes.
type usageLine struct {
	Kind    string `json:"kind"`
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"`
	Remove  int64  `json:"remove"` // records that retention would remove now
}

func (c *cli) storeUsage() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "usage --config FILE",
		Short: "Show what each kind of records takes, and what retention would remove",
		Long: "Go over a store and show what each kind of records takes, indexes included and before it is compressed, and\n" +
			"how many of them retention would remove now by age and size: by the configuration, or by the defaults with\n" +
			"--data-dir. The server must not run on the folder. Nothing is changed.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := flags.open(c, cmd)
			if err != nil {
				return err
			}
			cfg := config.Default()
			if flags.config != "" {
				if cfg, err = loadConfig(flags.config); err != nil {
					return err
				}
			}
			usage, err := store.MeasureUsage(cmd.Context(), at.Path, at.Encryption, c.deps.Retention(cfg), time.Now())
			if err != nil {
				return notOpened(at.Path, err)
			}
			var lines []usageLine
			for _, kind := range store.UsageKinds {
				lines = append(lines, usageLine{kind, usage[kind].Records, usage[kind].Bytes, usage[kind].Old})
			}
			return c.showValue(map[string][]usageLine{"kinds": lines}, func(s *screen) {
				var rows [][]cell
				for _, l := range lines {
					rows = append(rows, plain(l.Kind, strconv.FormatInt(l.Records, 10), bytesText(l.Bytes), strconv.FormatInt(l.Remove, 10)))
				}
				s.table([]string{"KIND", "RECORDS", "SIZE", "REMOVE"}, rows)
			})
		},
	}
	flags.register(cmd)
	return cmd
}
