package cmd

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/appliance/scaffold"
)

func (c *cli) pluginNew() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "new", Short: "Begin a plugin of your own",
		Long: "new writes a Go module that builds a plugin and passes the conformance suite as it is.",
	})
	c.nouns[cmd] = nil // the names are new ones
	cmd.AddCommand(c.pluginNewRuntime())
	return cmd
}

// newAnswer is what plugin new prints for scripts.
type newAnswer struct {
	Plugin    string   `json:"plugin"`
	Module    string   `json:"module"`
	Directory string   `json:"directory"`
	Files     []string `json:"files"`
}

func (c *cli) pluginNewRuntime() *cobra.Command {
	var o scaffold.Options
	cmd := &cobra.Command{
		Use:   "runtime NAME",
		Short: "Write the module of a runtime, which starts agents somewhere",
		Long: "Write the module of the plugin runtime-NAME: a launcher over plain terminals of this machine, its tests\n" +
			"with the conformance suite, and a README. It needs Go and nothing of Wardroom but the sdk, which is fetched\n" +
			"from the module proxy in the version of this program. Where no proxy is reached, --sdk names a directory\n" +
			"with the sdk (a copy of the repository, or of its go.mod, go.sum and sdk alone), and the module uses that.",
		Example: "  wardroom plugin new runtime nspawn --module git.example.com/ops/runtime-nspawn\n" +
			"  wardroom plugin new runtime nspawn --sdk /usr/src/wardroom",
		RunE: func(_ *cobra.Command, args []string) error {
			o.Name, o.Version = args[0], buildInfo().Version
			if o.Dir == "" {
				o.Dir = "runtime-" + o.Name
			}
			if o.Module == "" {
				o.Module = scaffold.DefaultModule(o.Name)
			}
			files, err := scaffold.Runtime(o)
			if err != nil {
				return err
			}
			dir, err := filepath.Abs(o.Dir)
			if err != nil {
				return err
			}
			return c.showValue(newAnswer{"runtime-" + o.Name, o.Module, dir, files}, func(s *screen) {
				s.line("made the module %s in %s", o.Module, clean(dir))
				fetch := ""
				if o.SDK == "" {
					fetch = "go mod tidy && "
				}
				s.line("build and check it: cd %s && %sgo build -o runtime-%s . && go test ./...", clean(o.Dir), fetch, o.Name)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Dir, "dir", "", "directory to make (default runtime-NAME)")
	flags.StringVar(&o.Module, "module", "", "path of the new module (default example.com/wardroom-runtime-NAME)")
	flags.StringVar(&o.SDK, "sdk", "", "directory that has the sdk, instead of fetching it")
	return cmd
}
