package access

import (
	"cmp"
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/wire"
)

var _ core.AgentTokenService = (*AgentTokens)(nil)

// Bounds of registration tokens.
const (
	maxTokens    = 10_000 // that are kept; beyond that none is made
	maxOffers    = 64     // capabilities or names of one
	maxUses      = 1_000_000
	maxOfferSize = 128 // bytes of one capability or name
)

// TokenStore is what registration tokens need of a core.Store.
type TokenStore interface {
	core.AgentTokenReader
	Update(ctx context.Context, fn func(tx core.Tx) error) error
}

// TokenOptions are what AgentTokens are made of. Store, Clock, IDs and Pepper are needed.
type TokenOptions struct {
	Store  TokenStore
	Clock  core.Clock
	IDs    core.IDs
	Logger hclog.Logger // nil: discards
	Pepper [32]byte
	// Older says what is over for long; nil: the clock does.
	Older core.OlderFunc
	// Changed is called when a token was revoked; may be nil.
	Changed func()
}

// AgentTokens keeps the registration tokens of agents, and says what an agent that shows one may offer. Make it with
// NewAgentTokens. It starts nothing by itself.
type AgentTokens struct {
	opts TokenOptions
	log  hclog.Logger

	purging sync.Mutex // one look for what is over at a time
	broken  ids        // of tokens that were revoked though their records cannot be read, which stay
}

// NewAgentTokens makes the service. It does nothing yet.
func NewAgentTokens(o TokenOptions) *AgentTokens {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Older == nil {
		o.Older = core.OlderBy(o.Clock)
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	return &AgentTokens{opts: o, log: o.Logger}
}

// CreateAgentToken implements core.AgentTokenService.
func (s *AgentTokens) CreateAgentToken(ctx context.Context, spec core.AgentTokenSpec) (*core.NewAgentToken, error) {
	if err := checkTokenSpec(spec); err != nil {
		return nil, err
	}
	by := core.PrincipalFrom(ctx)
	if !by.Unbounded() && !core.Grants(by.Scopes, core.ScopeAgentsManage) {
		return nil, core.Forbidden("tokens.create", core.ScopeAgentsManage, "a token for agents cannot come from one who may not connect agents")
	}
	if err := s.room(ctx); err != nil {
		return nil, err
	}
	secret, err := newSecret()
	if err != nil {
		return nil, err
	}
	now := s.opts.Clock.Now().UTC()
	rec := &core.AgentTokenRecord{AgentToken: core.AgentToken{
		ID: s.opts.IDs.New(core.PrefixToken), Capabilities: sortedTexts(spec.Capabilities), Names: sortedTexts(spec.Names), Uses: spec.Uses,
		CreatedBy: by.ID, CreatedAt: now,
	}}
	if !spec.Never {
		rec.ExpiresAt = new(now.Add(cmp.Or(spec.Life, core.DefaultKeyLife)))
	}
	rec.MAC = macOf(s.opts.Pepper, rec.ID, secret)
	claim := core.IdempotencyFrom(ctx)
	err = s.update(ctx, func(tx core.Tx) error {
		if err := tx.ClaimIdempotency(claim, rec.ID, now); err != nil {
			return err
		}
		return tx.PutAgentToken(rec)
	})
	if err != nil {
		return nil, err
	}
	s.log.Info("agent token created", "token", rec.ID, "capabilities", strings.Join(rec.Capabilities, ","), "by", by.ID)
	return &core.NewAgentToken{AgentToken: *s.view(rec), Token: tokenForm.join(rec.ID, secret)}, nil
}

// update is doubt.Update for as long as ctx lasts.
func (s *AgentTokens) update(ctx context.Context, fn func(tx core.Tx) error) error {
	return doubt.Update(ctx, ctx, s.opts.Clock, s.opts.Store, fn, pause.For)
}

// room forgets what was over long ago when there are many tokens, and refuses another one when that does not help.
func (s *AgentTokens) room(ctx context.Context) error {
	_, info, err := s.opts.Store.FindAgentTokens(ctx, core.AgentTokenFilter{Page: core.Page{Limit: 1}})
	if err != nil || info.Total < maxTokens {
		return err
	}
	if err := s.purge(ctx, 0); err != nil {
		return err
	}
	_, info, err = s.opts.Store.FindAgentTokens(ctx, core.AgentTokenFilter{Page: core.Page{Limit: 1}})
	if err == nil && info.Total >= maxTokens {
		err = core.Conflict("agent token", "", "", "there are %d agent tokens already; revoke those that are not needed", info.Total)
	}
	return err
}

// Purge forgets tokens that were over long ago. One that expired, but that agents registered with, stays until it is
// revoked: it is what they come back with.
func (s *AgentTokens) Purge(ctx context.Context) {
	if err := s.purge(ctx, keptBehind); err != nil {
		s.log.Warn("agent tokens that are over were not removed", "error", err)
	}
}

// purge forgets tokens that were over for longer than age, but for those that agents may come back with.
func (s *AgentTokens) purge(ctx context.Context, age time.Duration) error {
	s.purging.Lock()
	defer s.purging.Unlock()
	var gone []string
	page := core.Page{Limit: core.MaxPageLimit}
	for {
		list, info, err := s.opts.Store.FindAgentTokens(ctx, core.AgentTokenFilter{Page: page})
		if err != nil {
			return err
		}
		for _, rec := range list {
			end := rec.RevokedAt
			if end == nil && rec.Used == 0 {
				end = rec.ExpiresAt
			}
			if end != nil && s.opts.Older(*end, age) {
				gone = append(gone, rec.ID)
			}
		}
		if page.Cursor = info.NextCursor; page.Cursor == "" {
			break
		}
	}
	for chunk := range slices.Chunk(gone, core.MaxPageLimit) {
		err := s.opts.Store.Update(ctx, func(tx core.Tx) error {
			var errs []error
			for _, id := range chunk {
				errs = append(errs, tx.DeleteAgentToken(id))
			}
			return errors.Join(errs...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// view is a record as others see it.
func (s *AgentTokens) view(rec *core.AgentTokenRecord) *core.AgentToken {
	t := rec.AgentToken
	t.Status = rec.StatusAt(s.opts.Clock.Now())
	return &t
}

// FindAgentTokens implements core.AgentTokenService.
func (s *AgentTokens) FindAgentTokens(ctx context.Context, filter core.AgentTokenFilter) ([]*core.AgentToken, core.PageInfo, error) {
	found, info, err := s.opts.Store.FindAgentTokens(ctx, filter)
	list := make([]*core.AgentToken, len(found))
	for i, rec := range found {
		list[i] = s.view(rec)
	}
	return list, info, err
}

// FindAgentToken implements core.AgentTokenService.
func (s *AgentTokens) FindAgentToken(ctx context.Context, id string) (*core.AgentToken, error) {
	rec, err := s.opts.Store.FindAgentToken(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.view(rec), nil
}

// RevokeAgentToken implements core.AgentTokenService.
func (s *AgentTokens) RevokeAgentToken(ctx context.Context, id string) error {
	by, now := core.PrincipalFrom(ctx), s.opts.Clock.Now().UTC()
	err := s.update(ctx, func(tx core.Tx) error {
		rec, err := tx.FindAgentToken(id)
		if core.ErrorCode(err) == core.CodeNotFound {
			return core.NotFound("agent token", id)
		}
		if err != nil || rec.RevokedAt != nil {
			return err
		}
		next := *rec
		next.RevokedAt, next.RevokedBy, next.MAC = &now, by.ID, nil
		tx.AfterCommit(s.opts.Changed)
		return tx.PutAgentToken(&next)
	})
	switch {
	case err == nil:
		s.log.Info("agent token revoked", "token", id, "by", by.ID)
	case errors.Is(err, core.ErrUnreadable): // the record stays, and opens nothing; what it opened before ends
		s.broken.add(id)
		s.opts.Changed()
	}
	return err
}

// checkTokenSpec returns everything that is wrong with a new token.
func checkTokenSpec(spec core.AgentTokenSpec) error {
	var found []core.Problem
	wrong := func(bad bool, path, reason string) {
		if bad {
			found = append(found, core.Problem{Path: path, Reason: reason})
		}
	}
	wrong(len(spec.Capabilities) == 0, "capabilities", "must name at least one capability that agents may offer; * stands for all")
	for _, list := range []struct {
		path  string
		texts []string
	}{{"capabilities", spec.Capabilities}, {"names", spec.Names}} {
		wrong(len(list.texts) > maxOffers, list.path, fmt.Sprintf("must be at most %d", maxOffers))
		for i, text := range list.texts {
			at := fmt.Sprintf("%s[%d]", list.path, i)
			wrong(text == "" || len(text) > maxOfferSize || !utf8.ValidString(text) || strings.ContainsFunc(text, unprintable), at,
				fmt.Sprintf("must be 1 to %d bytes of printable text", maxOfferSize))
			wrong(strings.Contains(strings.TrimSuffix(text, "*"), "*"), at, "may have a * at its end only")
		}
	}
	for i, text := range spec.Capabilities {
		wrong(strings.ContainsFunc(text, unicode.IsSpace), fmt.Sprintf("capabilities[%d]", i), "must not hold spaces")
	}
	wrong(spec.Uses < 0 || spec.Uses > maxUses, "uses", fmt.Sprintf("must be 0 to %d", maxUses))
	wrong(spec.Never && spec.Life != 0, "never", "excludes a time of expiry")
	wrong(spec.Life != 0 && (spec.Life < minLife || spec.Life > core.MaxKeyLife), "expiresIn", "must be from 1 minute to 3650 days")
	return core.InvalidAll("agent token", found)
}

// sortedTexts returns texts in order, each once.
func sortedTexts(texts []string) []string {
	list := slices.Clone(texts)
	slices.Sort(list)
	return slices.Compact(list)
}

// covers reports whether one of some patterns stands for a text.
func covers(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		begin, open := strings.CutSuffix(p, "*")
		return p == text || open && strings.HasPrefix(text, begin)
	})
}

// find returns the record of a token as it is shown, or for the log why there is none. Whether an agent may still
// register with it is not asked: that is, when it registers.
func (s *AgentTokens) find(ctx context.Context, token string) (rec *core.AgentTokenRecord, reason string, err error) {
	id, secret, ok := tokenForm.cut(token)
	if !ok {
		return nil, "malformed", nil
	}
	rec, err = s.opts.Store.FindAgentToken(ctx, id)
	mac := noHashes[0].MAC // one that is not known takes as long to be refused
	switch {
	case err == nil && len(rec.MAC) > 0:
		mac = rec.MAC
	case err != nil && core.ErrorCode(err) != core.CodeNotFound:
		return nil, "", err
	}
	good := hmac.Equal(macOf(s.opts.Pepper, id, secret), mac)
	switch {
	case err != nil || !good && rec.RevokedAt == nil:
		return nil, "unknown, or another secret", nil
	case rec.RevokedAt != nil:
		return nil, string(wire.AgentTokenRevoked), nil
	}
	return rec, "", nil
}

// principalOf is who an agent with a token acts as.
func principalOf(rec *core.AgentTokenRecord) core.Principal {
	return core.Principal{Kind: core.PrincipalAgent, ID: rec.ID, Name: rec.ID, KeyID: rec.ID}
}

// IsAgentToken reports whether a credential has the form of a registration token, whatever it is worth.
func IsAgentToken(r *http.Request) bool {
	token, _ := bearer(r.Header)
	return strings.HasPrefix(token, tokenForm.mark)
}

// Refresh returns nil as long as the certificate of an agent did not end and its token was not revoked, as far as it has
// them; else UNAUTHORIZED.
func (s *AgentTokens) Refresh(ctx context.Context, p core.Principal) error {
	if !p.Expires.IsZero() && !s.opts.Clock.Now().Before(p.Expires) {
		return unauthorized("invalid", "the credential is not valid")
	}
	if !isToken(p) {
		return nil
	}
	rec, err := s.opts.Store.FindAgentToken(ctx, p.KeyID)
	revokedBroken, _ := s.broken.look(p.KeyID)
	switch {
	case core.ErrorCode(err) == core.CodeNotFound, err == nil && rec.RevokedAt != nil, errors.Is(err, core.ErrUnreadable) && revokedBroken:
		return unauthorized("invalid", "the credential is not valid")
	}
	return err
}

// CheckAgent returns what the token of an agent does not let it offer: FORBIDDEN. Agents without one may offer anything.
func (s *AgentTokens) CheckAgent(ctx context.Context, p core.Principal, offer core.AgentOffer) error {
	if !isToken(p) {
		return nil
	}
	rec, err := s.opts.Store.FindAgentToken(ctx, p.KeyID)
	switch {
	case core.ErrorCode(err) == core.CodeNotFound:
		return unauthorized("invalid", "the credential is not valid")
	case err != nil:
		return err
	case rec.RevokedAt != nil:
		return errRevoked()
	}
	return fits(rec, offer)
}

func errRevoked() error { return unauthorized("revoked", "the registration token was revoked") }

func isToken(p core.Principal) bool {
	return p.Kind == core.PrincipalAgent && core.ValidID(core.PrefixToken, p.KeyID)
}

func fits(rec *core.AgentTokenRecord, offer core.AgentOffer) error {
	refuse := func(format string, args ...any) error {
		return core.Forbidden("agents.connect", "", format, args...)
	}
	if len(rec.Names) > 0 && !covers(rec.Names, offer.Name) {
		return refuse("the token is not for agents with the name %q", offer.Name)
	}
	for _, c := range offer.Capabilities {
		if !covers(rec.Capabilities, c) {
			return refuse("the token is not for the capability %s", c)
		}
	}
	if offer.Threads && !covers(rec.Capabilities, capabilityThreads) {
		return refuse("the token is not for the capability %s, which hosting threads needs", capabilityThreads)
	}
	return nil
}

// capabilityThreads is the capability that a token needs for agents that host threads.
const capabilityThreads = "threads"

// AdmitAgent counts the registration of an agent within its transaction. UNAUTHORIZED when its token is over, unless the
// agent comes back: one that registered with it before.
func (s *AgentTokens) AdmitAgent(tx core.Tx, p core.Principal, comesBack bool) error {
	if !isToken(p) {
		return nil
	}
	rec, err := tx.FindAgentToken(p.KeyID)
	if core.ErrorCode(err) == core.CodeNotFound {
		return unauthorized("invalid", "the credential is not valid")
	}
	if err != nil {
		return err
	}
	now := s.opts.Clock.Now().UTC()
	switch status := rec.StatusAt(now); {
	case status == wire.AgentTokenRevoked:
		return errRevoked()
	case comesBack: // it counts no more than once
	case status == wire.AgentTokenExpired:
		return unauthorized("expired", "the registration token expired on "+rec.ExpiresAt.UTC().Format(time.RFC3339)+"; make another one")
	case status == wire.AgentTokenExhausted:
		return unauthorized("exhausted", fmt.Sprintf("the registration token was used %d times, as often as it may be; make another one", rec.Used))
	}
	next := *rec
	next.LastUsedAt = &now
	if !comesBack {
		next.Used++
	}
	return tx.PutAgentToken(&next)
}
