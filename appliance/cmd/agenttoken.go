package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/client"
)

var agentTokens = &resource[client.AgentToken]{
	noun: "agent token", member: "tokens", prefix: core.PrefixToken, empty: "no agent tokens; `wardroom agent create-token` makes one",
	columns: []column[client.AgentToken]{
		{head: "TOKEN", show: func(t *client.AgentToken) any { return t.ID }},
		{head: "CAPABILITIES", show: func(t *client.AgentToken) any { return strings.Join(t.Capabilities, ",") }, cut: 40},
		{head: "NAMES", show: func(t *client.AgentToken) any { return strings.Join(t.Names, ",") }, cut: 30},
		{head: "USED", show: func(t *client.AgentToken) any { return tokenUses(t) }},
		{head: "STATUS", show: func(t *client.AgentToken) any { return tokenStatus(t) }},
		{head: "EXPIRES", show: func(t *client.AgentToken) any { return tokenEnd(t) }},
		{head: "BY", show: func(t *client.AgentToken) any { return t.CreatedBy }, wide: true},
		{head: "LAST USED", show: func(t *client.AgentToken) any { return moment(t.LastUsedAt) }, wide: true},
		{head: "AGE", show: func(t *client.AgentToken) any { return t.CreatedAt }},
	},
	filters: []filter{{flag: "created-by", usage: "only those that this principal made"}},
	id:      func(t *client.AgentToken) string { return t.ID },
	status:  func(t *client.AgentToken) string { return string(t.Status) },
	over:    func(t *client.AgentToken) bool { return t.Status != "active" },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListAgentTokens(ctx, sel.text("created-by"), sel.Page)
	},
}

func tokenUses(t *client.AgentToken) string {
	if t.Uses == 0 {
		return fmt.Sprint(t.Used)
	}
	return fmt.Sprintf("%d of %d", t.Used, t.Uses)
}

func tokenStatus(t *client.AgentToken) cell {
	if t.Status == "active" {
		return cell{string(t.Status), styleGood}
	}
	return cell{string(t.Status), styleFaint}
}

func tokenEnd(t *client.AgentToken) string {
	if t.ExpiresAt == nil {
		return "never"
	}
	return moment(t.ExpiresAt)
}

// agentTokens runs a command about registration tokens as keys runs one about keys.
func (c *cli) agentTokens(
	cmd *cobra.Command, f *authFlags, offline func(ctx context.Context, tokens core.AgentTokenService) error,
	online func(ctx context.Context, api *client.Client) error,
) error {
	return c.offlineOr(cmd, f, func(_ *config.Config, at store.Location) error {
		return c.deps.AgentTokens(cmd.Context(), at, offline)
	}, online)
}

func (c *cli) agentTokenCreate() *cobra.Command {
	var flags authFlags
	var spec core.AgentTokenSpec
	var expires string
	cmd := &cobra.Command{
		Use:   "create-token --capabilities A,B",
		Short: "Make a token that agents register with; it is shown once",
		Long: "Make a token that agents register with and print it; nothing shows it again. Agents with it may offer its capabilities\n" +
			"and nothing else; one that ends in * stands for all that begin so, and threads for hosting threads. What they are\n" +
			"called, how many there may be and how long agents may register can be bounded as well. Hand it to the agent in " + envToken + ".",
		Example: "  wardroom agent create-token --capabilities triage,summarize --names 'triage-*' --uses 10 --expires 30d\n" +
			"  wardroom agent create-token --capabilities threads   # for wardroom edge",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(spec.Capabilities) == 0 {
				return usagef(cmd, "--capabilities is needed; '*' stands for all")
			}
			var err error
			if spec.Life, spec.Never, err = parseLife(cmd, expires); err != nil {
				return err
			}
			return c.agentTokens(cmd, &flags, func(ctx context.Context, tokens core.AgentTokenService) error {
				t, err := tokens.CreateAgentToken(ctx, spec)
				if err != nil {
					return err
				}
				return c.showValue(t, func(s *screen) { agentTokenScreen(s, &client.AgentToken{AgentToken: t.AgentToken}, t.Token) })
			}, func(ctx context.Context, api *client.Client) error {
				t, err := api.CreateAgentToken(ctx, client.AgentTokenSpec{
					Capabilities: spec.Capabilities, Names: spec.Names, Uses: spec.Uses, ExpiresIn: spec.Life.Milliseconds(), Never: spec.Never,
				}, "")
				return show(c, t, err, func(s *screen, t *client.NewAgentToken) {
					agentTokenScreen(s, &client.AgentToken{AgentToken: t.AgentToken}, t.Token)
				})
			})
		},
	}
	flags.register(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&spec.Capabilities, "capabilities", nil, "what its agents may offer, comma-separated")
	f.StringSliceVar(&spec.Names, "names", nil, "what its agents may be called, comma-separated (default anything)")
	f.IntVar(&spec.Uses, "uses", 0, "how many agents may register with it (default any number)")
	f.StringVar(&expires, "expires", "90d", "how long agents may register with it, such as 30d or 12h, or never")
	return cmd
}

// agentTokenScreen shows a token, with its secret if there is one.
func agentTokenScreen(s *screen, t *client.AgentToken, secret string) {
	names := "any"
	if len(t.Names) > 0 {
		names = strings.Join(t.Names, ",")
	}
	s.fields("token", t.ID, "capabilities", strings.Join(t.Capabilities, ","), "names", names, "used", tokenUses(t), "status", tokenStatus(t),
		"expires", tokenEnd(t), "last used", moment(t.LastUsedAt), "created by", t.CreatedBy)
	if secret != "" {
		s.line("")
		s.line("%s", secret)
		s.line("")
		s.line("It is shown once: hand it to the agent in %s.", envToken)
	}
}

func (c *cli) agentTokenList() *cobra.Command {
	var flags authFlags
	cmd := agentTokens.lists(c, &cobra.Command{Use: "list-tokens", Short: "List the tokens that agents register with, newest first"})
	online := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.config == "" {
			return online(cmd, args)
		}
		sel, err := c.selection(cmd, agentTokens.filters, args)
		if err != nil {
			return err
		}
		return c.agentTokens(cmd, &flags, func(ctx context.Context, tokens core.AgentTokenService) error {
			found, info, err := tokens.FindAgentTokens(ctx, core.AgentTokenFilter{
				CreatedBy: sel.text("created-by"), Page: core.Page{Limit: sel.Limit, Offset: sel.Offset, Cursor: sel.Cursor},
			})
			if err != nil {
				return err
			}
			rows := make([]client.AgentToken, len(found))
			for i, t := range found {
				rows[i].AgentToken = *t
			}
			return c.showValue(map[string]any{"tokens": found, "total": info.Total, "hasMore": info.HasMore}, func(s *screen) { agentTokens.draw(s, rows) })
		}, func(context.Context, *client.Client) error { return online(cmd, args) })
	}
	flags.register(cmd)
	return cmd
}

func (c *cli) agentTokenRevoke() *cobra.Command {
	var flags authFlags
	cmd := &cobra.Command{
		Use: "revoke-token ID", Short: "End a token that agents register with, and disconnect its agents",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.agentTokens(cmd, &flags, func(ctx context.Context, tokens core.AgentTokenService) error {
				return c.showRevoked(args[0], tokens.RevokeAgentToken(ctx, args[0]))
			}, func(ctx context.Context, api *client.Client) error {
				return c.showRevoked(args[0], api.RevokeAgentToken(ctx, args[0]))
			})
		},
	}
	flags.register(cmd)
	return cmd
}
