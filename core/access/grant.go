package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

var _ core.GrantService = (*Service)(nil)

// Bounds of logins of command lines.
const (
	maxGrants        = 1000 // that wait
	maxGrantsAddress = 20   // of one address, as failed attempts are counted
	userCodeLetters  = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeLength   = 8 // 34 bits; only people who are signed in can try
)

// grants are logins of command lines that wait. They are in memory alone: a restart ends them, and the command line says
// so. The zero value is ready.
type grants struct {
	mu       sync.Mutex // guards all below
	byDevice map[[sha256.Size]byte]*grant
	byUser   map[string]*grant
}

type grant struct {
	core.Grant
	device [sha256.Size]byte
	from   netip.Prefix
	asked  time.Time

	decided  bool
	spec     *core.SessionSpec // of whoever approved; nil: it was refused
	approver string            // the session that approved
	code     string            // that goes through the browser
}

// BeginGrant implements core.GrantService.
func (s *Service) BeginGrant(_ context.Context, spec core.GrantSpec) (*core.Grant, error) {
	if raw, err := base64.RawURLEncoding.Strict().DecodeString(spec.Challenge); err != nil || len(raw) != sha256.Size {
		return nil, core.Invalid("challenge", "must be the SHA-256 of the verifier in base64url, as RFC 7636 has it")
	}
	spec.Client = shown(spec.Client)
	device := randomText()
	g := &grant{Grant: core.Grant{GrantSpec: spec, ExpiresAt: s.opts.Clock.Now().Add(core.GrantLife)}, device: sha256.Sum256([]byte(device))}
	if addr, err := netip.ParseAddr(spec.Address); err == nil {
		g.from = addressOf(addr)
	}
	set := &s.grants
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.byDevice == nil {
		set.byDevice, set.byUser = map[[sha256.Size]byte]*grant{}, map[string]*grant{}
	}
	set.tidy(s.opts.Clock.Now())
	same := 0
	for _, other := range set.byDevice {
		if other.from == g.from {
			same++
		}
	}
	if same >= maxGrantsAddress || len(set.byDevice) >= maxGrants {
		most := int64(maxGrants)
		if same >= maxGrantsAddress {
			most = maxGrantsAddress
		}
		return nil, core.RateLimited(most, 0, time.Minute, "too many logins wait for approval; try again in a minute")
	}
	for g.UserCode == "" || set.byUser[g.UserCode] != nil {
		g.UserCode = newUserCode()
	}
	set.byDevice[g.device], set.byUser[g.UserCode] = g, g
	out := g.Grant
	out.DeviceCode = device
	return &out, nil
}

// tidy forgets what is over. The caller holds mu.
func (set *grants) tidy(now time.Time) {
	for _, g := range set.byDevice {
		if !now.Before(g.ExpiresAt) {
			set.forget(g)
		}
	}
}

// forget takes a grant out. The caller holds mu.
func (set *grants) forget(g *grant) {
	delete(set.byDevice, g.device)
	delete(set.byUser, g.UserCode)
}

// newUserCode returns a code such as BCDF-GHJK: without vowels it makes no words, without digits none is taken for a letter.
func newUserCode() string {
	code := make([]byte, 0, userCodeLength+1)
	var raw [1]byte
	for len(code) < userCodeLength+1 {
		if len(code) == userCodeLength/2 {
			code = append(code, '-')
		}
		_, _ = rand.Read(raw[:]) // it never fails: crypto/rand ends the process first
		if n := len(userCodeLetters); int(raw[0]) < 256/n*n {
			code = append(code, userCodeLetters[int(raw[0])%n])
		}
	}
	return string(code)
}

// waiting returns a grant that waits for a person. NOT_FOUND. The caller holds mu.
func (set *grants) waiting(userCode string, now time.Time) (*grant, error) {
	g := set.byUser[strings.ToUpper(strings.TrimSpace(userCode))]
	if g == nil || g.decided || !now.Before(g.ExpiresAt) {
		return nil, core.NotFound("login", shown(userCode[:min(len(userCode), 20)]))
	}
	return g, nil
}

// FindGrant implements core.GrantService.
func (s *Service) FindGrant(_ context.Context, userCode string) (*core.Grant, error) {
	s.grants.mu.Lock()
	defer s.grants.mu.Unlock()
	g, err := s.grants.waiting(userCode, s.opts.Clock.Now())
	if err != nil {
		return nil, err
	}
	out := g.Grant
	return &out, nil
}

// DecideGrant implements core.GrantService.
func (s *Service) DecideGrant(ctx context.Context, userCode string, approve bool) (code string, err error) {
	now := s.opts.Clock.Now()
	l, live := s.liveSession(core.PrincipalFrom(ctx).SessionID, now)
	if !live || l.rec.Kind != core.SessionBrowser {
		return "", core.Errorf(core.CodeForbidden, "only somebody who is signed in by a browser approves logins")
	}
	s.grants.mu.Lock()
	defer s.grants.mu.Unlock()
	g, err := s.grants.waiting(userCode, now)
	if err != nil {
		return "", err
	}
	g.decided = true
	if !approve {
		s.log.Info("login of a command line refused", "by", l.rec.User, "client", g.Client, "from", g.Address)
		return "", nil
	}
	g.approver = l.rec.ID
	g.spec = &core.SessionSpec{
		Kind: core.SessionCLI, User: l.rec.User, Name: l.rec.Name, Method: l.rec.Method, KeyID: l.rec.KeyID, KeySecret: l.rec.KeySecret,
		Groups: l.rec.Groups, Roles: l.rec.Roles, Address: g.Address, Client: g.Client,
	}
	if g.Port > 0 {
		g.code = randomText()
	}
	return g.code, nil
}

// RedeemGrant implements core.GrantService.
func (s *Service) RedeemGrant(ctx context.Context, deviceCode, verifier, code string) (*core.NewSession, error) {
	spec, err := s.redeem(deviceCode, verifier, code)
	if err != nil {
		return nil, err
	}
	return s.CreateSession(ctx, *spec)
}

// redeem returns what the session of an approved login is made of, once.
func (s *Service) redeem(deviceCode, verifier, code string) (*core.SessionSpec, error) {
	now, challenge := s.opts.Clock.Now(), sha256.Sum256([]byte(verifier))
	s.grants.mu.Lock()
	defer s.grants.mu.Unlock()
	g := s.grants.byDevice[sha256.Sum256([]byte(deviceCode))]
	over := core.NotFound("login", "")
	over.Message = "there is no such login: it took longer than 10 minutes, was used, or the server was restarted; begin anew"
	if g == nil || !now.Before(g.ExpiresAt) {
		return nil, over
	}
	sum := base64.RawURLEncoding.EncodeToString(challenge[:])
	if subtle.ConstantTimeCompare([]byte(sum), []byte(g.Challenge)) != 1 {
		s.grants.forget(g) // whoever has the code without its verifier stole it
		return nil, over
	}
	early := now.Sub(g.asked) < core.GrantInterval/2
	g.asked = now
	switch {
	case !g.decided && early:
		return nil, core.RateLimited(1, core.GrantInterval, core.GrantInterval, "ask every %s", core.GrantInterval)
	case !g.decided:
		return nil, core.Conflict("login", "", "pending", "the login waits for approval in the browser")
	}
	s.grants.forget(g)
	if g.spec == nil {
		return nil, core.Errorf(core.CodeForbidden, "the login was refused in the browser")
	}
	if subtle.ConstantTimeCompare([]byte(code), []byte(g.code)) != 1 {
		return nil, over
	}
	if _, live := s.liveSession(g.approver, now); !live { // signed out, or withdrawn, meanwhile
		return nil, over
	}
	return g.spec, nil
}
