package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// installAnswer is what plugin install prints for scripts.
type installAnswer struct {
	pluginhost.ManifestEntry
	Directory string `json:"directory"`
	Replaced  string `json:"replaced,omitempty"` // the version that was there
	Downgrade bool   `json:"downgrade,omitempty"`
}

func (c *cli) pluginInstall() *cobra.Command {
	var dir, configPath, sum string
	var trust pluginhost.Trust
	var about pluginhost.About
	var yes, unsafe bool
	cmd := &cobra.Command{
		Use:   "install FILE",
		Short: "Install a plugin from a binary, or from a .tar.gz with manifest.json and the binary",
		Long: "Install shows what the file is and asks before it puts it in place. Nothing of the file is run. A server\n" +
			"that runs finds the plugin at once; start it with `wardroom plugin enable NAME`, or name it in the\n" +
			"configuration. An installed plugin is replaced, and goes on with its old binary until it is restarted;\n" +
			"`wardroom plugin rollback` brings it back. With plugins.trustedKeys in the configuration, or --key, the file\n" +
			"must have a signature by one of the keys: FILE.minisig, as minisign and `wardroom plugin sign` write it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, keys, err := pluginDir(dir, configPath)
			if err != nil {
				return err
			}
			trust.Keys = append(trust.Keys, keys...)
			if err := makePluginDir(target); err != nil {
				return err
			}
			if !unsafe {
				if err := pluginhost.CheckDir(target); err != nil {
					return err
				}
			}
			p, err := pluginhost.ReadPackage(args[0], target, about, trust)
			if err != nil {
				return err
			}
			defer p.Close()
			if sum != "" && !strings.EqualFold(sum, p.Entry.SHA256) {
				return core.Invalid("sha256", "the binary has the checksum %s, not the one that was expected", p.Entry.SHA256)
			}
			was, replaces, err := p.Replaces()
			if err != nil {
				return err
			}
			if !yes {
				if err := c.confirmInstall(p, was, replaces, target); err != nil {
					return err
				}
			}
			downgrade := replaces && pluginhost.Older(p.Entry.Version, was.Version)
			if downgrade && yes {
				if _, err := fmt.Fprintf(c.deps.Stderr, "warning: %s is older than the installed %s\n", clean(p.Entry.Version), clean(was.Version)); err != nil {
					return err
				}
			}
			if err := p.Install(); err != nil {
				return err
			}
			return c.showValue(installAnswer{p.Entry, target, was.Version, downgrade}, func(s *screen) {
				s.line("installed %s %s in %s", p.Entry.Name, p.Entry.Version, clean(target))
				if replaces {
					s.line("it takes effect with `wardroom plugin restart %s`; `wardroom plugin rollback %s` undoes it", p.Entry.Name, p.Entry.Name)
				} else {
					s.line("start it with `wardroom plugin enable %s`", p.Entry.Name)
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "dir", "", "directory of the plugins (default: plugins.dir of --config, else plugins beside wardroom)")
	flags.StringVar(&configPath, "config", "", "configuration file that says where plugins are")
	flags.StringVar(&sum, "sha256", "", "refuse a binary with another checksum")
	flags.StringVar(&trust.Signature, "signature", "", "file of the signature (default FILE.minisig)")
	flags.StringArrayVar(&trust.Keys, "key", nil, "require a signature by this public key of minisign, beside plugins.trustedKeys")
	flags.StringVar(&about.Name, "name", "", "name of a bare binary (default: that of the file)")
	flags.StringVar(&about.Kind, "kind", "", "kind of a bare binary: runtime, secret or audit (default: told by its name)")
	flags.StringVar(&about.Version, "plugin-version", "", "version of a bare binary (default: what its build recorded)")
	flags.BoolVar(&yes, "yes", false, "do not ask")
	flags.BoolVar(&unsafe, "unsafe-dir", false, "install into a directory that others may change; serve refuses such plugins")
	exclusive(cmd, "dir", "config")
	return cmd
}

// pluginDir finds the directory of the plugins, and the keys by one of which they must be signed.
func pluginDir(dir, configPath string) (found string, keys []string, err error) {
	if configPath != "" {
		cfg, err := loadConfig(configPath)
		if err != nil {
			return "", nil, err
		}
		dir, keys = cfg.Plugins.Dir, cfg.Plugins.TrustedKeys
	}
	if dir == "" {
		self, err := os.Executable()
		if err != nil {
			return "", nil, fmt.Errorf("find the directory of wardroom: %w", err)
		}
		dir = filepath.Join(filepath.Dir(self), "plugins")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, fmt.Errorf("directory of the plugins: %w", err)
	}
	return dir, keys, nil
}

// makePluginDir makes the directory of the plugins if it is not there.
func makePluginDir(dir string) error {
	if err := pluginhost.MakeDir(dir); err != nil {
		return core.Invalid("dir", "%s is no directory and cannot be made; name that of the plugins with --dir or --config", dir)
	}
	return nil
}

// confirmInstall shows what is about to be installed and asks.
func (c *cli) confirmInstall(p *pluginhost.Package, was pluginhost.ManifestEntry, replaces bool, dir string) error {
	s := &screen{paint: c.painter(c.deps.Stderr)}
	origin := "computed now; no manifest vouches for it"
	if p.Vouched {
		origin = "as its manifest says"
	}
	signer := cmp.Or(p.Entry.SignedBy, "not checked: plugins.trustedKeys names no keys")
	before := ""
	if replaces {
		before = was.Version + " (" + was.Kind + ")"
		if pluginhost.Older(p.Entry.Version, was.Version) {
			before += ", which is newer"
		}
	}
	s.fields("plugin", p.Entry.Name, "kind", p.Entry.Kind, "version", p.Entry.Version, "sha256", p.Entry.SHA256+" ("+origin+")",
		"signed by", signer, "size", config.FormatSize(p.Size), "into", dir, "replaces", before)
	s.line("It will run with the rights of the service. Install it? [y/N]")
	return c.confirm(s, "nothing was installed", "--yes installs without asking")
}

// rollbackAnswer is what plugin rollback prints for scripts.
type rollbackAnswer struct {
	pluginhost.ManifestEntry
	Directory string `json:"directory"`
	Replaced  string `json:"replaced"` // the version that was there
}

func (c *cli) pluginRollback() *cobra.Command {
	var dir, configPath string
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Bring back the version of a plugin that the last install replaced",
		Long: "rollback puts the files back that the last `wardroom plugin install` of the plugin replaced, and keeps the\n" +
			"present ones: a second rollback undoes the first. It takes effect when the plugin is restarted.",
		RunE: func(_ *cobra.Command, args []string) error {
			target, _, err := pluginDir(dir, configPath)
			if err != nil {
				return err
			}
			now, was, err := pluginhost.Rollback(target, args[0])
			if err != nil {
				return err
			}
			return c.showValue(rollbackAnswer{now, target, was.Version}, func(s *screen) {
				s.line("%s %s is back in %s, in place of %s", now.Name, now.Version, clean(target), was.Version)
				s.line("it takes effect with `wardroom plugin restart %s`", now.Name)
			})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the plugins (default: plugins.dir of --config, else plugins beside wardroom)")
	cmd.Flags().StringVar(&configPath, "config", "", "configuration file that says where plugins are")
	exclusive(cmd, "dir", "config")
	return cmd
}

func (c *cli) pluginRemove() *cobra.Command {
	var flags authFlags
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an installed plugin, with the version that a rollback would bring back",
		Long: "remove ends an installed plugin and removes its files. One that the configuration uses is refused, with the key\n" +
			"to take out first, and so is one that came with the package of Wardroom. What the plugin kept stays; the answer\n" +
			"says where. A removal that was cut short is finished by the next one.\n\n" +
			"With --config it works on the machine of the server, also while that does not run.",
		RunE: func(cmd *cobra.Command, args []string) error {
			online := func() error {
				return c.call(cmd, func(ctx context.Context, api *client.Client) error {
					removed, err := api.RemovePlugin(ctx, args[0])
					if err != nil {
						return err
					}
					return c.showRemoval(&removed.PluginRemoval)
				})
			}
			if flags.config == "" {
				return online()
			}
			return c.atStore(cmd, &flags, func(loaded *config.Config, at store.Location) error {
				removed, err := c.deps.RemovePlugin(cmd.Context(), loaded, at, args[0])
				if err != nil {
					return err
				}
				return c.showRemoval(removed)
			}, online)
		},
	}
	flags.register(cmd)
	return cmd
}

func (c *cli) showRemoval(removed *wire.PluginRemoval) error {
	return c.showValue(removed, func(s *screen) {
		former := ""
		if removed.Former != "" {
			former = ", and the former " + clean(removed.Former)
		}
		s.line("removed %s %s from %s%s", clean(removed.Name), clean(removed.Version), clean(removed.Directory), former)
		if removed.State != "" {
			s.line("what it kept stays in %s", clean(removed.State))
		}
	})
}

func (c *cli) pluginManifest() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "manifest DIR",
		Short: "Write the manifest of a directory of plugins that were just built",
		Long: "manifest runs each program in DIR with -version and writes manifest.json with name, kind, version and\n" +
			"checksum of those that are plugins. Files that are named like plugins and are none are told of, and the exit\n" +
			"code is 1; others, such as the holder, are passed over. It is for whoever builds plugins, not for files from elsewhere.\n\n" +
			"With --file the directory is that of a package: of one plugin, and the files that come with it.",
		Example: "  wardroom plugin manifest package --file holder --file prices.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			m, skipped, err := pluginhost.DescribeDir(cmd.Context(), args[0], files...)
			if err != nil {
				return err
			}
			if err := pluginhost.WriteManifest(args[0], m); err != nil {
				return fmt.Errorf("write the manifest: %w", err)
			}
			lost := false
			for _, name := range skipped {
				if pluginhost.KindOfName(name) == "" {
					continue // it is not called like a plugin: a helper of one
				}
				lost = true
				if _, err := fmt.Fprintf(c.deps.Stderr, "left out %s\n", clean(name)); err != nil {
					return err
				}
			}
			err = c.show(m.Encode(), func(s *screen) {
				var cells [][]cell
				for _, e := range m.Plugins {
					cells = append(cells, plain(e.Name, e.Kind, e.Version, e.SHA256[:16]+"..."))
				}
				s.table([]string{"PLUGIN", "KIND", "VERSION", "SHA256"}, cells)
			})
			if err == nil && lost {
				return &outcomeError{code: exitFailed, message: "a file with the name of a plugin is not in the manifest"}
			}
			return err
		},
	}
	cmd.Flags().StringArrayVar(&files, "file", nil, "file in DIR that the plugin needs beside it; may be repeated")
	return cmd
}
