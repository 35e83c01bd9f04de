package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) secretCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "secret", Aliases: []string{"secrets"}, Short: "Look after the providers of secrets",
		Long: "Show where secrets come from, and try references to them, such as vault:secret/db#password. No command shows a secret.",
	})
	c.nouns[cmd] = secretProviders
	test := c.secretTest()
	cmd.AddCommand(secretProviders.lists(c, &cobra.Command{Use: "list", Short: "List the providers of secrets, and how they are"}), test)
	c.nouns[test] = nil // a reference
	return cmd
}

var secretProviders = &resource[client.SecretProvider]{
	noun: "secret provider", member: "providers", unpaged: true, empty: "no providers of secrets",
	columns: []column[client.SecretProvider]{
		{head: "PROVIDER", show: func(p *client.SecretProvider) any { return p.Name }},
		{head: "PLUGIN", show: func(p *client.SecretProvider) any { return p.Plugin }},
		{head: "STATUS", show: func(p *client.SecretProvider) any { return providerStatus(p) }},
		{head: "IN USE", show: func(p *client.SecretProvider) any { return countText(p.Secrets) }},
		{head: "WATCHED", show: func(p *client.SecretProvider) any { return p.Watched }},
		{head: "REASON", show: func(p *client.SecretProvider) any { return p.Reason }, cut: 100},
	},
	id:     func(p *client.SecretProvider) string { return p.Name },
	status: func(p *client.SecretProvider) string { return p.Status },
	fetch: func(ctx context.Context, api *client.Client, _ selection) (answered, error) {
		return api.ListSecretProviders(ctx)
	},
}

func providerStatus(p *client.SecretProvider) cell {
	switch p.Status {
	case "ok":
		return cell{p.Status, styleGood}
	case "degraded":
		return cell{p.Status, styleBusy}
	}
	return cell{p.Status, styleBad}
}

func (c *cli) secretTest() *cobra.Command {
	cmd := &cobra.Command{
		Use: "test REFERENCE", Short: "Tell whether a reference leads to a secret, and if not why",
		Long: "Have the server ask the provider of a reference, past what it has in memory, and tell what came of it: never the\n" +
			"secret, but whether there is one, its version, when it expires and about how long it is. It exits with 1 when there\n" +
			"is none.",
		Example: "  wardroom secret test vault:secret/db#password\n  wardroom secret test file:/run/secrets/db.json#password",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.call(cmd, func(ctx context.Context, api *client.Client) error {
			found, err := api.TestSecret(ctx, args[0])
			if err := show(c, found, err, secretScreen); err != nil {
				return err
			}
			if !found.Resolves {
				return &outcomeError{code: exitFailed, message: found.Reference + " leads to no secret"}
			}
			return nil
		})
	}
	return cmd
}

func secretScreen(s *screen, t *client.SecretTest) {
	answer := cell{"there is a secret", styleGood}
	if !t.Resolves {
		answer = cell{"there is none", styleBad}
	}
	form := ""
	if t.Binary {
		form = "binary: environments, headers and JSON cannot hold it"
	}
	s.fields("reference", t.Reference, "answer", answer, "provider", t.Provider, "plugin", t.Plugin, "version", t.Version,
		"expires", moment(t.ExpiresAt), "size", t.Size, "form", form, "code", t.Code, "reason", t.Reason, "hint", t.Hint)
}
