package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// UserSession is the session of a person who is signed in, see package wire.
type UserSession struct {
	Meta
	wire.UserSession
}

// UserSessionList is one page of sessions, newest first.
type UserSessionList struct {
	Meta
	PageInfo
	Sessions []UserSession `json:"sessions"`
}

func (l *UserSessionList) page() ([]UserSession, PageInfo) { return l.Sessions, l.PageInfo }

// SignInMethods are the ways to sign in, see package wire.
type SignInMethods struct {
	Meta
	wire.SignInMethods
}

// CLIGrant is a login of a command line that waits for a person's approval, see package wire.
type CLIGrant struct {
	Meta
	wire.CLIGrant
}

// CLIToken is the outcome of a login, see package wire.
type CLIToken struct {
	Meta
	wire.CLIToken
}

// SignOut answers the end of a session, see package wire.
type SignOut struct {
	Meta
	wire.SignOut
}

// What the API says of logins of a command line, see package wire.
type (
	CLILogin  = wire.CLILogin
	CLIRedeem = wire.CLIRedeem
)

const sessionsPath = "/api/auth/sessions"

// SignInMethods reports how people sign in.
func (c *Client) SignInMethods(ctx context.Context) (*SignInMethods, error) {
	return get[SignInMethods](ctx, c, "/api/auth/methods")
}

// BeginCLILogin begins the login of a command line: a person approves it at the path that the answer names.
func (c *Client) BeginCLILogin(ctx context.Context, login CLILogin) (*CLIGrant, error) {
	return ask[CLIGrant](ctx, c, request{method: http.MethodPost, path: "/auth/cli", body: login})
}

// RedeemCLILogin returns the credential of a login that was approved. Before that it is CONFLICT with the status pending.
func (c *Client) RedeemCLILogin(ctx context.Context, redeem CLIRedeem) (*CLIToken, error) {
	return ask[CLIToken](ctx, c, request{method: http.MethodPost, path: "/auth/cli/token", body: redeem})
}

// SignOut ends the session that the client's credential is of.
func (c *Client) SignOut(ctx context.Context) (*SignOut, error) {
	return ask[SignOut](ctx, c, request{method: http.MethodDelete, path: "/api/session"})
}

// SessionFilter selects sessions. The zero value selects the caller's own.
type SessionFilter struct {
	User string // those of this user
	All  bool   // those of everybody
}

// ListSessions returns one page of sessions that are not over, newest first.
func (c *Client) ListSessions(ctx context.Context, filter SessionFilter, page Page) (*UserSessionList, error) {
	all := ""
	if filter.All {
		all = "true"
	}
	return listOf[UserSessionList](ctx, c, sessionsPath, page, "user", filter.User, "all", all)
}

// Sessions walks all pages of the list.
func (c *Client) Sessions(ctx context.Context, filter SessionFilter, page Page) iter.Seq2[UserSession, error] {
	return walkPages(ctx, page, func(ctx context.Context, page Page) (*UserSessionList, error) {
		return c.ListSessions(ctx, filter, page)
	})
}

// RevokeSession ends a session at once.
func (c *Client) RevokeSession(ctx context.Context, id string) error {
	return c.remove(ctx, sessionsPath+"/"+segment(id))
}
