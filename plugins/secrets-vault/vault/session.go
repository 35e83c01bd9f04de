package vault

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/vault/api"

	"github.com/wardroom/wardroom/sdk/secret"
)

const (
	// Between two tries to log in or to renew, which double from the first to the second.
	minPause = time.Second
	maxPause = 30 * time.Second
	// lookEvery is how often a token's file is looked at, and how much is left of a token and of leases: timers stand still while the
	// machine is suspended.
	lookEvery = 5 * time.Second
)

// session owns the token that secrets are read with.
type session struct {
	config Config
	log    hclog.Logger
	now    func() time.Time
	reader *api.Client // has the token; requests of others go over it
	entry  *api.Client // for logging in; used under login
	// replaced is called when another token took over: leases go with the token that they were given to.
	replaced func(generation int)
	login    chan struct{} // of one; held while somebody logs in
	wake     chan struct{} // of one; the token has changed

	mu      sync.Mutex // guards all below
	token   token
	text    string        // of a token of a file
	problem *secret.Error // why there is no token, or why it is not renewed
	failed  time.Time     // of the last login
}

// token is what is known of a token; the text of it is in the clients only.
type token struct {
	generation int           // 0: there is none
	expires    time.Time     // zero: never
	lifetime   time.Duration // 0: it is used to its end
	renewable  bool
	invalid    bool // the server does not know it any more
}

func (t token) usable(now time.Time) bool {
	return t.generation > 0 && !t.invalid && (t.expires.IsZero() || left(t.expires, now) > 0)
}

// last makes it a token of a file that is used to its end: to ask about the same one again before that changes nothing. Who writes the
// file puts another one there.
func (t *token) last() { t.renewable, t.lifetime = false, 0 }

func newSession(c Config, transport http.RoundTripper, log hclog.Logger, now func() time.Time) (*session, error) {
	s := &session{config: c, log: log, now: now, login: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	var err error
	if s.reader, err = newClient(c, transport); err == nil {
		s.entry, err = newClient(c, transport)
	}
	return s, err
}

func (s *session) current() (token, *secret.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token, s.problem
}

// need returns a token that can be used, and logs in for it.
func (s *session) need(ctx context.Context) (token, *secret.Error) {
	if t, _ := s.current(); t.usable(s.now()) {
		return t, nil
	}
	return s.logIn(ctx, false)
}

// refused notes that the server does not know a token any more.
func (s *session) refused(generation int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token.generation == generation && !s.token.invalid {
		s.token.invalid = true
		s.log.Info("the token is not valid any more")
		s.awake()
	}
}

// awake has keep look at the token.
func (s *session) awake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// rewritten reports whether the file of a token holds another one than that in use.
func (s *session) rewritten() bool {
	if s.config.Auth.Method != methodToken {
		return false
	}
	text, err := readCredential(s.config.Auth.TokenFile)
	s.mu.Lock()
	defer s.mu.Unlock()
	return err == nil && text != s.text
}

// logIn gets a token. One goroutine does so at a time; the others take what it got. Whoever comes shortly after a failure
// gets the same: a flood of references is none of logins.
func (s *session) logIn(ctx context.Context, anew bool) (token, *secret.Error) {
	select {
	case s.login <- struct{}{}:
	case <-ctx.Done():
		return token{}, s.config.fault(ctx, ctx.Err(), "log in")
	}
	defer func() { <-s.login }()
	s.mu.Lock()
	t, problem, failed := s.token, s.problem, s.failed
	s.mu.Unlock()
	switch {
	case !anew && t.usable(s.now()):
		return t, nil
	case !anew && problem != nil && time.Since(failed) < minPause:
		return token{}, problem
	}
	text, next, err := s.authenticate(ctx)
	s.mu.Lock()
	if err != nil {
		if ctx.Err() == nil { // else it is the caller that gave up
			s.problem, s.failed = err, time.Now()
		}
		s.mu.Unlock()
		return token{}, err
	}
	next.generation = s.token.generation + 1
	s.reader.SetToken(text)
	s.token, s.text, s.problem = next, text, nil
	s.mu.Unlock()
	s.log.Info("logged in", "method", s.config.Auth.Method, "lifetime", max(left(next.expires, s.now()), 0).Round(time.Second).String(), "renewable", next.renewable)
	s.awake()
	if next.generation > 1 {
		s.replaced(next.generation)
	}
	return next, nil
}

// authenticate makes the requests of a login.
func (s *session) authenticate(ctx context.Context) (string, token, *secret.Error) {
	a := &s.config.Auth
	body := map[string]any{}
	read := func(path, field string) *secret.Error {
		text, err := readCredential(path)
		if err != nil {
			e := secret.Errorf(secret.CodeForbidden, "there is no login to Vault: the file of auth.%s holds nothing that can be read", field)
			e.Hint, e.Retry = "write it to "+path+", readable for the service", true
			return e
		}
		body[field] = text
		return nil
	}
	switch a.Method {
	case methodToken:
		if e := read(a.TokenFile, "tokenFile"); e != nil {
			return "", token{}, e
		}
		text, _ := body["tokenFile"].(string)
		return s.look(ctx, text)
	case methodAppRole:
		body["role_id"] = a.RoleID
		if a.SecretIDFile != "" {
			if e := read(a.SecretIDFile, "secretIdFile"); e != nil {
				return "", token{}, e
			}
			body["secret_id"] = body["secretIdFile"]
			delete(body, "secretIdFile")
		}
	case methodKubernetes:
		if e := read(a.JWTFile, "jwtFile"); e != nil {
			return "", token{}, e
		}
		body["role"], body["jwt"] = a.Role, body["jwtFile"]
		delete(body, "jwtFile")
	}
	at := s.now()
	answer, err := s.entry.Logical().WriteWithContext(ctx, "auth/"+a.Mount+"/login", body)
	if err != nil {
		e := s.config.fault(ctx, err, "log in at auth/"+a.Mount)
		if e.Code == secret.CodeInvalidRef || e.Code == secret.CodeForbidden || e.Code == secret.CodeNotFound {
			e = secret.Errorf(secret.CodeForbidden, "Vault refuses the login at auth/%s", a.Mount)
			e.Hint, e.Retry = loginHint(a), true
		}
		return "", token{}, e
	}
	if answer == nil || answer.Auth == nil || answer.Auth.ClientToken == "" {
		return "", token{}, s.config.unavailable("it answers a login with something else", "check address: it must be that of Vault")
	}
	t := token{renewable: answer.Auth.Renewable, lifetime: time.Duration(answer.Auth.LeaseDuration) * time.Second}
	if t.lifetime > 0 {
		t.expires = at.Add(t.lifetime)
	}
	return answer.Auth.ClientToken, t, nil
}

func loginHint(a *Auth) string {
	if a.Method == methodAppRole {
		return "check auth.roleId, and that the secret id of auth.secretIdFile is neither used up nor expired; a new one takes effect at once"
	}
	return "check that the method is enabled there, and that the role " + a.Role + " allows this service account, its namespace and the audience of its token"
}

// look asks what a token is worth.
func (s *session) look(ctx context.Context, text string) (string, token, *secret.Error) {
	s.entry.SetToken(text)
	defer s.entry.ClearToken()
	at := s.now()
	answer, err := s.entry.Auth().Token().LookupSelfWithContext(ctx)
	if err != nil {
		e := s.config.fault(ctx, err, "use the token")
		if e.Code == secret.CodeForbidden {
			e = secret.Errorf(secret.CodeForbidden, "Vault does not know the token of auth.tokenFile, or not any more")
			e.Hint, e.Retry = "write a new token to "+s.config.Auth.TokenFile+"; it is read at once. A token needs the policy default, or one that allows auth/token/lookup-self", true
		}
		return "", token{}, e
	}
	if answer == nil {
		return "", token{}, s.config.unavailable("it answers with something else", "check address: it must be that of Vault")
	}
	seconds := func(name string) time.Duration {
		number, _ := answer.Data[name].(json.Number)
		n, _ := number.Int64()
		return time.Duration(n) * time.Second
	}
	t := token{lifetime: max(seconds("creation_ttl"), seconds("period"))}
	if ttl := seconds("ttl"); ttl > 0 {
		t.expires = at.Add(ttl)
		t.lifetime = max(t.lifetime, ttl)
	}
	if t.renewable, _ = answer.Data["renewable"].(bool); !t.renewable {
		t.last()
	}
	return text, t, nil
}

// keep has a token as long as ctx lasts: it logs in, renews before the end, and logs in again where that does not help.
func (s *session) keep(ctx context.Context) {
	var pause time.Duration // after a failure; 0: there was none
	for {
		t, _ := s.current()
		wait := min(due(t, s.now()), lookEvery)
		if pause > 0 {
			wait = pause/2 + rand.N(pause/2+1)
		}
		if s.config.Auth.Method == methodToken {
			wait = min(wait, lookEvery)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-s.wake:
			timer.Stop()
			pause = 0
			continue
		case <-timer.C:
		}
		t, _ = s.current()
		switch {
		case s.rewritten():
			pause = longer(s.attempt(ctx, true), pause)
		case !t.usable(s.now()):
			pause = longer(s.attempt(ctx, false), pause)
		case due(t, s.now()) > 0: // it was only a look
		case t.renewable:
			pause = longer(s.renew(ctx, t), pause)
		default:
			pause = longer(s.attempt(ctx, true), pause)
		}
	}
}

// due returns when something is to be done for a token: renewed, or replaced, when a third of its life is left.
func due(t token, now time.Time) time.Duration {
	switch {
	case !t.usable(now):
		return 0
	case t.expires.IsZero():
		return time.Hour
	}
	return max(left(t.expires, now)-t.lifetime/3, 0)
}

// longer returns the pause after a try.
func longer(failed bool, pause time.Duration) time.Duration {
	if !failed {
		return 0
	}
	return min(max(2*pause, minPause), maxPause)
}

// attempt logs in, and says in the log what keeps it from that, once.
func (s *session) attempt(ctx context.Context, anew bool) (failed bool) {
	_, before := s.current()
	_, err := s.logIn(ctx, anew)
	if err == nil || ctx.Err() != nil {
		return false
	}
	if before == nil || before.Message != err.Message {
		s.log.Warn("cannot log in", "error", err.Message, "hint", err.Hint)
	}
	return true
}

// renew asks for a longer life of the token. Where its life cannot grow any more, another one takes over.
func (s *session) renew(ctx context.Context, t token) (failed bool) {
	at := s.now()
	answer, err := s.reader.Auth().Token().RenewSelfWithContext(ctx, 0)
	switch {
	case ctx.Err() != nil:
		return false
	case s.config.Auth.Method == methodToken && refusedFor(err) && !invalidToken(err):
		s.log.Warn("the token may not be renewed; it is used until its end", "until", t.expires.Format(time.RFC3339))
		s.usedUp(t.generation)
		return false
	case refusedFor(err):
		s.refused(t.generation)
		return s.attempt(ctx, true)
	case err != nil:
		e := s.config.fault(ctx, err, "renew the token")
		s.log.Warn("cannot renew the token", "error", e.Message, "until", t.expires.Format(time.RFC3339))
		s.mu.Lock()
		s.problem = e
		s.mu.Unlock()
		return true
	case answer == nil || answer.Auth == nil:
		return true
	}
	life := time.Duration(answer.Auth.LeaseDuration) * time.Second
	s.mu.Lock()
	if s.token.generation == t.generation {
		s.token.expires, s.problem = at.Add(life), nil
		s.token.renewable = answer.Auth.Renewable
	}
	s.mu.Unlock()
	if life > t.lifetime/2 {
		return false
	}
	// The end of its maximum is near.
	if s.config.Auth.Method != methodToken {
		return s.attempt(ctx, true)
	}
	s.usedUp(t.generation)
	return false
}

// usedUp notes that a token is not renewed any more.
func (s *session) usedUp(generation int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token.generation == generation {
		s.token.last()
	}
}

// end gives the token back, unless it is somebody else's. What was leased by it is taken back by the server.
func (s *session) end(ctx context.Context) {
	if t, _ := s.current(); s.config.Auth.Method == methodToken || !t.usable(s.now()) {
		return
	}
	if err := s.reader.Auth().Token().RevokeSelfWithContext(ctx, ""); err != nil {
		s.log.Warn("cannot give the token back: it ends by itself", "error", s.config.fault(ctx, err, "revoke the token").Message)
	}
}
