package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) pluginCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "plugin", Aliases: []string{"plugins"}, Short: "Look after plugins",
		Long: "Plugins are programs beside wardroom: runtimes, secret providers and audit sinks.\n\n" +
			"install, manifest and new work with files; the other commands talk to a running server.",
	})
	cmd.AddCommand(c.pluginList(), c.pluginInfo(), c.pluginVerify(), c.pluginInstall(), c.pluginEnable(), c.pluginDisable(),
		c.pluginRestart(), c.pluginLogs(), c.pluginManifest(), c.pluginNew())
	return cmd
}

func (c *cli) pluginList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the plugins that are configured or installed", Args: wants(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				list, err := api.ListPlugins(ctx)
				if err != nil {
					return err
				}
				return c.show(list.Body, func(s *screen) { pluginTable(s, list.Plugins) })
			})
		},
	}
}

func pluginTable(s *screen, plugins []client.Plugin) {
	if len(plugins) == 0 {
		s.line("no plugins; install one with `wardroom plugin install FILE`")
		return
	}
	var cells [][]cell
	for _, p := range plugins {
		restarts := ""
		if p.Restarts > 0 {
			restarts = fmt.Sprint(p.Restarts)
		}
		note := p.Reason
		if p.State == "ready" && p.Health != "ok" {
			note = p.HealthReason
		}
		cells = append(cells, []cell{
			{text: p.Name}, {text: p.Kind}, {text: p.Version}, pluginState(p), {text: moment(&p.Since)}, {text: restarts},
			{text: shorten(clean(note), 100)},
		})
	}
	s.table([]string{"PLUGIN", "KIND", "VERSION", "STATE", "SINCE", "RESTARTS", "REASON"}, cells)
}

// pluginState is the state; of a ready plugin that is not well, its health.
func pluginState(p client.Plugin) cell {
	switch p.State {
	case "ready":
		switch p.Health {
		case "degraded":
			return cell{"ready, degraded", styleBusy}
		case "failed":
			return cell{"ready, failed", styleBad}
		}
		return cell{p.State, styleGood}
	case "failed", "quarantined":
		return cell{p.State, styleBad}
	case "disabled":
		return cell{p.State, styleFaint}
	}
	return cell{p.State, styleBusy}
}

func (c *cli) pluginInfo() *cobra.Command {
	return &cobra.Command{
		Use: "info NAME", Short: "Show a plugin, its state and the settings that it takes", Args: wants("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				p, err := api.GetPlugin(ctx, args[0])
				if err != nil {
					return err
				}
				return c.show(p.Body, func(s *screen) { pluginScreen(s, p) })
			})
		},
	}
}

func pluginScreen(s *screen, p *client.Plugin) {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	s.fields("plugin", p.Name, "kind", p.Kind, "version", p.Version, "state", pluginState(*p), "since", moment(&p.Since),
		"reason", p.Reason, "hint", p.Hint, "next attempt", moment(p.NextAttempt), "health", p.HealthReason,
		"enabled", p.Enabled, "required", p.Required, "configured", p.Configured,
		"path", p.Path, "sha256", p.SHA256, "pid", number(p.PID), "started", moment(p.StartedAt), "protocol", number(p.Protocol),
		"restarts", number(p.Restarts), "crashes", number(p.Failures))
	for _, check := range p.Checks {
		s.line("check %s: %s %s", clean(check.Name), clean(check.Status), clean(check.Text))
	}
	if len(p.Schema) > 0 && string(p.Schema) != "null" {
		s.line("\nsettings (JSON Schema):\n%s", pretty(p.Schema))
	}
	for _, example := range p.Examples {
		s.line("\nexample:\n%s", pretty(example))
	}
}

func (c *cli) pluginVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify NAME", Short: "Check a plugin's files, handshake, identity and settings", Args: wants("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				r, err := api.VerifyPlugin(ctx, args[0])
				if err != nil {
					return err
				}
				err = c.show(r.Body, func(s *screen) {
					var cells [][]cell
					for _, check := range r.Checks {
						cells = append(cells, []cell{{text: check.Name}, checkStatus(check.Status), {text: check.Text}})
					}
					s.table([]string{"CHECK", "STATUS", "FOUND"}, cells)
				})
				if err == nil && !r.OK {
					return &outcomeError{code: exitFailed, message: "the plugin " + r.Name + " is not as it should be"}
				}
				return err
			})
		},
	}
}

func checkStatus(word string) cell {
	switch word {
	case "warning", "degraded":
		return cell{word, styleBusy}
	case "skipped":
		return cell{word, styleFaint}
	}
	return status(word)
}

func (c *cli) pluginEnable() *cobra.Command {
	return c.pluginChange("enable NAME", "Run a plugin, now and after restarts", (*client.Client).EnablePlugin, "ready")
}

func (c *cli) pluginDisable() *cobra.Command {
	return c.pluginChange("disable NAME", "Stop a plugin, now and after restarts", (*client.Client).DisablePlugin, "disabled")
}

func (c *cli) pluginRestart() *cobra.Command {
	return c.pluginChange("restart NAME", "Start a plugin anew and forget its failures", (*client.Client).RestartPlugin, "ready")
}

// pluginChange makes a command that brings a plugin to a state, and fails when it does not get there.
func (c *cli) pluginChange(
	use, short string, change func(*client.Client, context.Context, string) (*client.Plugin, error), want string,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: wants("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				p, err := change(api, ctx, args[0])
				if err != nil {
					return err
				}
				err = c.show(p.Body, func(s *screen) {
					s.line("plugin %s %s is %s", clean(p.Name), clean(p.Version), clean(p.State))
				})
				if err == nil && p.State != want {
					reason := clean(p.Reason)
					if reason == "" {
						reason = "it is still " + p.State
					}
					return &outcomeError{code: exitFailed, message: reason, hint: clean(p.Hint)}
				}
				return err
			})
		},
	}
}
