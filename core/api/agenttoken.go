package api

import (
	"net/http"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const agentTokensPath = "/api/auth/agent-tokens" //nolint:gosec // a path with the word token in it

// AgentTokens makes the operations of the tokens that agents register with.
func AgentTokens(service core.AgentTokenService) Part {
	return Part{"tokens", resource{wire.AuditAdmin, false, core.PrefixToken}, agentTokenPart{service}.routes()}
}

type agentTokenPart struct{ service core.AgentTokenService }

func (p agentTokenPart) routes() []Route {
	const one = agentTokensPath + "/{tokenId}"
	route := routesOf("auth", core.ScopeAdmin, core.ScopeAdmin)
	return []Route{
		route(http.MethodPost, "tokens.create", Route{
			Path: agentTokensPath, OperationID: "createAgentToken", Secret: true, Summary: "Make a token that agents register with.",
			Description: "Only this answer shows it; a repeat with the same Idempotency-Key does not.",
			Body:        &Body{JSON: new(wire.AgentTokenSpec)},
			Responses:   []Response{{Status: 201, Body: wire.NewAgentToken{}, Location: true, Doc: "It is valid."}},
			Fails:       []int{409}, Creates: true, Recover: recoverOne(p.service.FindAgentToken, agentTokenAgain), Handle: decoded(p.createAgentToken),
		}),
		route(http.MethodGet, "tokens.read", Route{
			Path: agentTokensPath, OperationID: "listAgentTokens", Summary: "List the tokens that agents register with, newest first.",
			Description: "Revoked ones stay listed for 30 days.",
			Query:       append(pageParams(), Param{Name: "createdBy", Type: ParamString, Doc: "Only those that this principal made."}),
			Responses:   []Response{{Status: 200, Body: agentTokenList{}, Doc: "A page of tokens."}},
			Handle:      p.listAgentTokens,
		}),
		route(http.MethodGet, "tokens.read", Route{
			Path: one, OperationID: "getAgentToken", Summary: "Get one token that agents register with.",
			Responses: []Response{{Status: 200, Body: wire.AgentToken{}, Doc: "The token, without its secret."}},
			Fails:     []int{404}, Handle: getOne("tokenId", p.service.FindAgentToken),
		}),
		route(http.MethodDelete, "tokens.revoke", Route{
			Path: one, OperationID: "revokeAgentToken", Summary: "End a token that agents register with, for good.",
			Description: "Agents that registered with it are disconnected within seconds; their tasks go to others.",
			Responses:   []Response{{Status: http.StatusNoContent, Doc: "It is revoked."}},
			Fails:       []int{404}, Handle: removeOne("tokenId", p.service.RevokeAgentToken),
		}),
	}
}

type agentTokenList struct {
	Tokens []wire.AgentToken `json:"tokens"`
	wire.PageInfo
}

func agentTokenPath(id string) string { return agentTokensPath + "/" + id }

func (p agentTokenPart) createAgentToken(c *call, req wire.AgentTokenSpec) (answer, error) {
	t, err := p.service.CreateAgentToken(c.detached(), core.AgentTokenSpec{
		Capabilities: req.Capabilities, Names: req.Names, Uses: req.Uses, Life: time.Duration(req.ExpiresIn) * time.Millisecond, Never: req.Never,
	})
	if err != nil {
		return answer{}, err
	}
	a := created(agentTokenPath(t.ID), *t)
	a.kept = wire.NewAgentToken{AgentToken: t.AgentToken}
	return a, nil
}

// agentTokenAgain answers a repeated create. The secret was never shown: the caller makes another token.
func agentTokenAgain(t *core.AgentToken) answer {
	return created(agentTokenPath(t.ID), wire.NewAgentToken{AgentToken: *t})
}

func (p agentTokenPart) listAgentTokens(c *call) (answer, error) {
	return listed(c, func(page core.Page) ([]*core.AgentToken, core.PageInfo, error) {
		return p.service.FindAgentTokens(c.ctx, core.AgentTokenFilter{CreatedBy: c.query.text("createdBy"), Page: page})
	}, valueOf, func(rows []wire.AgentToken, info wire.PageInfo) any { return agentTokenList{rows, info} })
}
