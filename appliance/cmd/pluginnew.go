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
	cmd.AddCommand(c.pluginNewRuntime(), c.pluginNewAudit(), c.pluginNewSecret())
	return cmd
}

func (c *cli) pluginSDK() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sdk DIR",
		Short: "Write the sdk that plugins are built of",
		Long: "sdk writes the packages that plugins are built of, with the modules that they need and the guide for authors,\n" +
			"docs/plugins.md, to DIR: a new or empty directory, or one with an earlier sdk, whose place it takes. Everything\n" +
			"comes out of this program: no network is needed, neither now nor to build with it.\n\n" +
			"`wardroom plugin new runtime NAME --sdk DIR` begins a plugin that uses it; `sh DIR/use.sh` has the module in\n" +
			"the working directory use it.",
		Example: "  wardroom plugin sdk /usr/src/wardroom-sdk",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := scaffold.WriteSDK(args[0]); err != nil {
				return err
			}
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return c.showValue(sdkAnswer{dir, buildInfo().Version}, func(s *screen) {
				s.line("wrote the sdk of wardroom %s to %s", buildInfo().Version, clean(dir))
				s.line("begin a plugin with it: wardroom plugin new runtime NAME --sdk %s", clean(args[0]))
			})
		},
	}
	c.nouns[cmd] = nil // a directory
	return cmd
}

// sdkAnswer is what plugin sdk prints for scripts.
type sdkAnswer struct {
	Directory string `json:"directory"`
	Version   string `json:"version"` // of the program that had it inside
}

// newAnswer is what plugin new prints for scripts.
type newAnswer struct {
	Plugin    string   `json:"plugin"`
	Module    string   `json:"module"`
	Directory string   `json:"directory"`
	Files     []string `json:"files"`
}

func (c *cli) pluginNewRuntime() *cobra.Command {
	return c.pluginNewModule("runtime", &cobra.Command{
		Use:   "runtime NAME",
		Short: "Write the module of a runtime, which starts agents somewhere",
		Long: "Write the module of the plugin runtime-NAME: a launcher over plain terminals of this machine, its tests\n" +
			"with the conformance suite, and a README. " + newModuleText,
		Example: "  wardroom plugin new runtime nspawn --module git.example.com/ops/runtime-nspawn\n" +
			"  wardroom plugin new runtime nspawn --sdk /usr/src/wardroom-sdk",
	})
}

func (c *cli) pluginNewAudit() *cobra.Command {
	return c.pluginNewModule("audit", &cobra.Command{
		Use:   "audit NAME",
		Short: "Write the module of an audit sink, which keeps audit records somewhere",
		Long: "Write the module of the plugin audit-NAME: a sink that appends to a file, its tests with the conformance\n" +
			"suite, and a README. " + newModuleText,
		Example: "  wardroom plugin new audit syslog --module git.example.com/ops/audit-syslog",
	})
}

func (c *cli) pluginNewSecret() *cobra.Command {
	return c.pluginNewModule("secret", &cobra.Command{
		Use:   "secret NAME",
		Short: "Write the module of a secret provider, which reads secrets from somewhere",
		Long: "Write the module of the plugin secrets-NAME: a provider that reads files of a directory, its tests with the\n" +
			"conformance suite, and a README. " + newModuleText,
		Example: "  wardroom plugin new secret keepass --module git.example.com/ops/secrets-keepass",
	})
}

// newModuleText describes the sdk in the help of both commands.
const newModuleText = "It needs Go and nothing of Wardroom but the sdk, which this program\n" +
	"writes into the module, below third_party: neither now nor later is a network needed. --sdk names a directory\n" +
	"that has the sdk instead (one that `wardroom plugin sdk` wrote, or a copy of the repository), and with --fetch\n" +
	"the sdk comes from a module proxy, in the version of this program."

// pluginNewModule makes cmd one that writes a module.
func (c *cli) pluginNewModule(kind string, cmd *cobra.Command) *cobra.Command {
	o := scaffold.Options{Kind: kind}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		o.Name, o.Version = args[0], buildInfo().Version
		if o.Dir == "" {
			o.Dir = o.Plugin()
		}
		if o.Module == "" {
			o.Module = o.DefaultModule()
		}
		files, err := scaffold.Module(o)
		if err != nil {
			return err
		}
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return err
		}
		return c.showValue(newAnswer{o.Plugin(), o.Module, dir, files}, func(s *screen) {
			s.line("made the module %s in %s", o.Module, clean(dir))
			fetch := ""
			if o.Fetch {
				fetch = "go mod tidy && "
			}
			s.line("build and check it: cd %s && %sgo build -o %s . && go test ./...", clean(o.Dir), fetch, o.Plugin())
		})
	}
	named := scaffold.Options{Kind: kind, Name: "NAME"}
	flags := cmd.Flags()
	flags.StringVar(&o.Dir, "dir", "", "directory to make (default "+named.Plugin()+")")
	flags.StringVar(&o.Module, "module", "", "path of the new module (default "+named.DefaultModule()+")")
	flags.StringVar(&o.SDK, "sdk", "", "directory that has the sdk (default: that of this program is written into the module)")
	flags.BoolVar(&o.Fetch, "fetch", false, "fetch the sdk from a module proxy when the module is built")
	exclusive(cmd, "sdk", "fetch")
	return cmd
}
