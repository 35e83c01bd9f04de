package cmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

var userSessions = &resource[client.UserSession]{
	noun: "session", member: "sessions", prefix: core.PrefixSession, empty: "no sessions",
	columns: []column[client.UserSession]{
		{head: "SESSION", show: func(r *client.UserSession) any { return r.ID }},
		{head: "USER", show: func(r *client.UserSession) any { return r.User }, cut: 30},
		{head: "KIND", show: func(r *client.UserSession) any { return string(r.Kind) }},
		{head: "METHOD", show: func(r *client.UserSession) any { return r.Method }},
		{head: "NAME", show: func(r *client.UserSession) any { return r.Name }, cut: 30, wide: true},
		{head: "FROM", show: func(r *client.UserSession) any { return r.Address }},
		{head: "CLIENT", show: func(r *client.UserSession) any { return r.Client }, cut: 40, wide: true},
		{head: "GROUPS", show: func(r *client.UserSession) any { return strings.Join(r.Groups, ",") }, cut: 40, wide: true},
		{head: "USED", show: func(r *client.UserSession) any { return r.LastUsedAt }},
		{head: "EXPIRES", show: func(r *client.UserSession) any { return moment(&r.ExpiresAt) }},
		{head: "AGE", show: func(r *client.UserSession) any { return r.CreatedAt }},
		{head: "", show: func(r *client.UserSession) any {
			if r.Current {
				return "this one"
			}
			return ""
		}},
	},
	filters: []filter{{flag: "user", usage: "only those of this user (for administrators)"}},
	id:      func(r *client.UserSession) string { return r.ID },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		user := sel.text("user")
		return api.ListSessions(ctx, client.SessionFilter{User: user}, sel.Page)
	},
}

func (c *cli) authSessions() *cobra.Command {
	return c.nounGroup(userSessions, &cobra.Command{
		Use: "sessions", Aliases: []string{"session"}, Short: "Who is signed in",
		Long: "List and end the sessions of people who are signed in by a browser or by `wardroom login`: one's own, and for\n" +
			"administrators those of others.",
	}, c.authSessionList(), c.authSessionRevoke())
}

func (c *cli) authSessionList() *cobra.Command {
	var everybody bool
	listed := *userSessions
	listed.fetch = func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListSessions(ctx, client.SessionFilter{User: sel.text("user"), All: everybody}, sel.Page)
	}
	cmd := listed.lists(c, &cobra.Command{Use: "list", Short: "List sessions that are not over, newest first"})
	cmd.Flags().BoolVar(&everybody, "everybody", false, "those of everybody (for administrators)")
	exclusive(cmd, "everybody", "user")
	return cmd
}

func (c *cli) authSessionRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke SESSION", Short: "End a session at once",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				if err := api.RevokeSession(ctx, args[0]); err != nil {
					return err
				}
				return c.showValue(map[string]any{"id": args[0], "revoked": true}, func(s *screen) { s.line("%s is over", clean(args[0])) })
			})
		},
	}
}
