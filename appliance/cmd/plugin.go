package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) pluginCommand() *cobra.Command {
	return c.nounGroup(plugins, &cobra.Command{
		Use: "plugin", Aliases: []string{"plugins"}, Short: "Look after plugins",
		Long: "Plugins are programs beside wardroom: runtimes, secret providers and audit sinks.\n\n" +
			"remove works with a running server, or with --config without one. install, rollback, manifest, new, sdk, keygen and sign work with files; the other commands talk to a running server.",
	}, plugins.lists(c, &cobra.Command{Use: "list", Short: "List the plugins that are configured or installed"}), c.pluginInfo(), c.pluginVerify(), c.pluginInstall(), c.pluginEnable(), c.pluginDisable(),
		c.pluginRestart(), c.pluginLogs(), c.pluginManifest(), c.pluginNew(), c.pluginSDK(), c.pluginRollback(), c.pluginRemove(), c.pluginKeygen(), c.pluginSign())
}

var plugins = &resource[client.Plugin]{
	noun: "plugin", member: "plugins", unpaged: true, empty: "no plugins; install one with `wardroom plugin install FILE`",
	columns: []column[client.Plugin]{
		{head: "PLUGIN", show: func(p *client.Plugin) any { return p.Name }},
		{head: "KIND", show: func(p *client.Plugin) any { return p.Kind }},
		{head: "VERSION", show: func(p *client.Plugin) any { return p.Version }},
		{head: "STATE", show: func(p *client.Plugin) any { return pluginState(*p) }},
		{head: "SINCE", show: func(p *client.Plugin) any { return moment(&p.Since) }, wide: true},
		{head: "AGE", show: func(p *client.Plugin) any { return p.Since }},
		{head: "RESTARTS", show: func(p *client.Plugin) any { return countText(p.Restarts) }},
		{head: "REASON", show: func(p *client.Plugin) any {
			return pluginReason(p)
		}, cut: 100},
	},
	id:     func(p *client.Plugin) string { return p.Name },
	status: func(p *client.Plugin) string { return string(p.State) },
	fetch: func(ctx context.Context, api *client.Client, _ selection) (answered, error) {
		return api.ListPlugins(ctx)
	},
}

// pluginReason returns why a plugin is in its state, in one line for operators.
func pluginReason(p *client.Plugin) string {
	switch {
	case p.State == "ready" && p.HealthReason != "":
		return p.HealthReason
	case p.Installed != "":
		return p.Installed + " is installed; it runs after wardroom plugin restart " + p.Name
	case p.State == "failed" && !p.NextAttempt.IsZero():
		return p.Reason + "; tried again at " + p.NextAttempt.Local().Format(time.TimeOnly)
	}
	return p.Reason
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
		return cell{string(p.State), styleGood}
	case "failed", "quarantined":
		return cell{string(p.State), styleBad}
	case "disabled":
		return cell{string(p.State), styleFaint}
	}
	return cell{string(p.State), styleBusy}
}

func (c *cli) pluginInfo() *cobra.Command {
	return shows(c, &cobra.Command{Use: "info NAME", Short: "Show a plugin, its state and the settings that it takes"},
		(*client.Client).GetPlugin, pluginScreen)
}

func pluginScreen(s *screen, p *client.Plugin) {
	s.fields("plugin", p.Name, "kind", p.Kind, "version", p.Version, "installed", p.Installed, "sdk", p.SDK, "state", pluginState(*p), "since", moment(&p.Since),
		"reason", p.Reason, "hint", p.Hint, "next attempt", moment(&p.NextAttempt), "health", p.HealthReason,
		"enabled", p.Enabled, "required", p.Required, "configured", p.Declared,
		"path", p.Path, "sha256", p.SHA256, "pid", countText(p.PID), "started", moment(&p.StartedAt), "protocol", countText(p.Protocol),
		"restarts", countText(p.Restarts), "crashes", countText(p.Failures))
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
		Use: "verify NAME", Short: "Check a plugin's files, handshake, identity and settings",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				r, err := api.VerifyPlugin(ctx, args[0])
				err = show(c, r, err, func(s *screen, r *client.PluginReport) {
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
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				p, err := change(api, ctx, args[0])
				err = show(c, p, err, func(s *screen, p *client.Plugin) {
					s.line("plugin %s %s is %s", clean(p.Name), clean(p.Version), clean(p.State))
				})
				if err == nil && string(p.State) != want {
					reason := clean(p.Reason)
					if reason == "" {
						reason = "it is still " + string(p.State)
					}
					return &outcomeError{code: exitFailed, message: reason, hint: clean(p.Hint)}
				}
				return err
			})
		},
	}
}
