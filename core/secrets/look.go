package secrets

import (
	"bytes"
	"context"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Statuses of a provider.
const (
	statusOK       = "ok"
	statusDegraded = "degraded"
	statusFailed   = "failed"
)

// FindSecretProviders implements core.SecretService.
func (s *Service) FindSecretProviders(context.Context) ([]core.SecretProvider, error) {
	type figure struct{ secrets, stale, failed int }
	figures := map[*provider]figure{}
	s.mu.RLock()
	for _, e := range s.entries {
		f := figures[e.from]
		switch v := e.state.Load(); {
		case v != nil:
			f.secrets++
			if v.stale {
				f.stale++
			}
		case e.failed != nil:
			f.failed++
		}
		figures[e.from] = f
	}
	s.mu.RUnlock()
	all := s.all()
	list := make([]core.SecretProvider, 0, len(all))
	for _, name := range names(all) {
		p := all[name]
		f := figures[p]
		row := core.SecretProvider{Name: p.name, Plugin: p.plugin, Status: statusOK, Secrets: f.secrets, Watched: p.watched.Load()}
		p.mu.Lock()
		failed := p.failed
		p.mu.Unlock()
		switch {
		case p.state != nil && !ready(p, &row):
		case failed != nil && f.secrets+f.failed > 0: // else nothing in use needs it
			row.Status, row.Reason, row.Hint = statusFailed, failed.Message, failed.Hint
		case f.failed > 0:
			row.Status, row.Reason = statusDegraded, "some secrets that were asked for are not there, or may not be read"
			row.Hint = "the log names them; wardroom secret test REFERENCE shows why"
		}
		if row.Status == statusFailed && f.stale > 0 {
			row.Status = statusDegraded // those in use are kept for now
		}
		list = append(list, row)
	}
	return list, nil
}

// note keeps how the last call went.
func (p *provider) note(failed *secret.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = failed
}

func ready(p *provider, row *core.SecretProvider) bool {
	ok, reason, hint := p.state()
	if !ok {
		row.Status, row.Reason, row.Hint = statusFailed, reason, hint
	}
	return ok
}

// TestSecret implements core.SecretService. It looks past what is in memory, and keeps nothing of it.
func (s *Service) TestSecret(ctx context.Context, reference string) (*core.SecretTest, error) {
	ref, ok, err := core.ParseSecretRef(reference)
	switch {
	case err != nil:
		return nil, core.Invalid("reference", "%s", err)
	case !ok:
		return nil, core.Invalid("reference", "is no reference to a secret; they are of the form <provider>:<path>#<key>, such as vault:secret/db#password")
	}
	out := &core.SecretTest{Reference: ref.String(), Provider: ref.Provider, Plugin: ref.Plugin()}
	p, failed := s.providerOf(ref)
	var v secret.Value
	if failed == nil {
		v, failed = s.once(ctx, p, ref)
	}
	if failed != nil {
		out.Code, out.Reason, out.Hint = string(failed.Code), failed.Message, failed.Hint
		return out, nil
	}
	out.Resolves, out.Version, out.Size = true, v.Version(), sizeClass(v.Len())
	out.Binary = !utf8.Valid(v.Reveal()) || bytes.IndexByte(v.Reveal(), 0) >= 0
	if end := v.NotAfter(); !end.IsZero() {
		end = end.UTC()
		out.ExpiresAt = &end
	}
	return out, nil
}

func (s *Service) once(ctx context.Context, p *provider, ref core.SecretRef) (secret.Value, *secret.Error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Load().Timeout)
	defer cancel()
	results, err := p.provider.Resolve(ctx, []secret.Ref{{Path: ref.Path, Key: ref.Key}}, test)
	switch {
	case err != nil:
		return secret.Value{}, secret.AsError(err)
	case len(results) != 1:
		return secret.Value{}, secret.Errorf(secret.CodeInternal, "the provider answered one reference with %d results", len(results))
	}
	if allDown(results) == nil {
		p.note(nil)
	}
	switch {
	case results[0].Error != nil:
		return secret.Value{}, results[0].Error
	case results[0].Value.Len() > MaxValue:
		return secret.Value{}, secret.Errorf(secret.CodeInvalidRef, "it is more than %d bytes long", MaxValue)
	}
	return results[0].Value, nil
}

// sizeClass tells about how long a secret is: its length would help whoever guesses.
func sizeClass(n int) string {
	switch {
	case n == 0:
		return "empty"
	case n < 16:
		return "under 16 bytes"
	case n < 64:
		return "16 to 63 bytes"
	case n < 1024:
		return "64 to 1023 bytes"
	case n <= 64<<10:
		return "1 to 64 KiB"
	}
	return "over 64 KiB"
}
