package secrets

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Source is a core.SecretSource for one part of the appliance.
type Source struct {
	service   *Service
	component string
	own       bool // texts are the operator's: built-in providers count, and no list bounds what is read
}

var _ core.SecretSource = (*Source)(nil)

// Configured returns the source for texts of the configuration, which may name every provider.
func (s *Service) Configured(component string) *Source { return &Source{s, component, true} }

// Requested returns the source for texts that users wrote: those that name built-in providers stay as they are, and others are
// bound by Config.Allow.
func (s *Service) Requested(component string) *Source { return &Source{s, component, false} }

// Parse returns the reference that a text is here. The error is for text of the configuration that begins as a reference.
func (o *Source) Parse(text string) (core.SecretRef, bool, error) {
	if !o.own {
		ref, ok := core.RequestedSecretRef(text)
		return ref, ok, nil
	}
	return core.ParseSecretRef(text)
}

// Value returns the secret of a reference.
func (o *Source) Value(ctx context.Context, ref core.SecretRef) (secret.Value, error) {
	return o.value(ctx, ref, secret.Caller{Component: o.component})
}

func (o *Source) value(ctx context.Context, ref core.SecretRef, by secret.Caller) (secret.Value, error) {
	if !o.own && !o.service.config.Load().allows(ref) {
		return secret.Value{}, notAllowed(ref)
	}
	v, err := o.service.Resolve(ctx, ref, by)
	if err != nil {
		return secret.Value{}, explain(ref, err)
	}
	return v, nil
}

// SecretText implements core.SecretSource.
func (o *Source) SecretText(ctx context.Context, text string) (string, error) {
	return o.text(ctx, text, secret.Caller{Component: o.component})
}

func (o *Source) text(ctx context.Context, text string, by secret.Caller) (string, error) {
	ref, ok, err := o.Parse(text)
	switch {
	case err != nil:
		return "", core.Errorf(core.CodeValidation, "a reference to a secret %s", err)
	case !ok:
		return text, nil
	}
	v, err := o.value(ctx, ref, by)
	if err != nil {
		return "", err
	}
	if data := v.Reveal(); !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", &core.Error{
			Code: core.CodeValidation, Message: "the secret " + ref.String() + " is no text, so it cannot be used here",
			Details: map[string]any{"secret": ref.String(), "reason": "BINARY"},
		}
	}
	return string(v.Reveal()), nil
}

// SecretEnv implements core.SecretSource. It names the variable that has none.
func (o *Source) SecretEnv(ctx context.Context, env map[string]string) (map[string]string, error) {
	next, copied := env, false
	for _, name := range slices.Sorted(maps.Keys(env)) {
		text, err := o.SecretText(ctx, env[name])
		if err != nil {
			e := *core.AsError(err)
			e.Message = "env." + name + ": " + e.Message
			return nil, &e
		}
		if text == env[name] {
			continue
		}
		if !copied {
			next, copied = maps.Clone(env), true
		}
		next[name] = text
	}
	return next, nil
}

// SecretJSON returns JSON with secrets in place of the texts that refer to them.
func (o *Source) SecretJSON(ctx context.Context, raw json.RawMessage, by secret.Caller) (json.RawMessage, error) {
	var tree any
	if err := rawjson.Decode(raw, &tree); err != nil {
		return nil, core.Errorf(core.CodeInternal, "the settings are no JSON")
	}
	by.Component = o.component
	found := false
	var walk func(value any) (any, error)
	walk = func(value any) (any, error) {
		var err error
		switch value := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				if value[key], err = walk(value[key]); err != nil {
					return nil, err
				}
			}
		case []any:
			for i := range value {
				if value[i], err = walk(value[i]); err != nil {
					return nil, err
				}
			}
		case string:
			text, err := o.text(ctx, value, by)
			found = found || text != value
			return text, err
		}
		return value, nil
	}
	tree, err := walk(tree)
	if err != nil || !found {
		return raw, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tree); err != nil {
		return nil, core.Errorf(core.CodeInternal, "the settings cannot be written as JSON")
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// explain is the error of a reference for whoever used it: it names the reference, and tells nothing that only its provider
// knows; the log and TestSecret tell that.
func explain(ref core.SecretRef, err error) error {
	e := secret.AsError(err)
	text, out := "the secret "+ref.String()+" ", core.CodeValidation
	switch e.Code {
	case secret.CodeNotFound:
		text += "is not there"
	case secret.CodeForbidden:
		text += "may not be read by its provider: it was refused"
	case secret.CodeInvalidRef:
		text += "cannot be used: " + e.Message
	case secret.CodeNotConfigured:
		text += "has no provider: " + e.Message
	default:
		text, out = text+"cannot be read now: its provider does not answer ("+string(e.Code)+")", core.CodeInternal
	}
	return (&core.Error{
		Code: out, Message: text, Details: map[string]any{"secret": ref.String(), "reason": string(e.Code)}, Unavailable: out == core.CodeInternal,
	}).WithCause(e)
}

func notAllowed(ref core.SecretRef) error {
	return &core.Error{
		Code: core.CodeValidation, Message: "the secret " + ref.String() + " may not be used here: security.secrets.allow does not list it",
		Details: map[string]any{"secret": ref.String(), "reason": string(secret.CodeForbidden)},
	}
}

// allows reports whether users may write a reference.
func (c *Config) allows(ref core.SecretRef) bool {
	if len(c.Allow) == 0 {
		return true
	}
	text := ref.String()
	return slices.ContainsFunc(c.Allow, func(pattern string) bool { return matches(pattern, text) })
}

// matches is path.Match, where ** at the end of a pattern, or before its key, matches any rest of the path.
func matches(pattern, text string) bool {
	before, after, found := strings.Cut(pattern, "**")
	if !found {
		ok, err := path.Match(pattern, text)
		return ok && err == nil
	}
	// ** matches any number of parts. The first place where it may begin leaves most to it.
	begin := 0
	for ; ; begin++ {
		if begin > len(text) {
			return false
		}
		if n := len(before); n > 0 && !strings.ContainsRune(`*?]\`, rune(before[n-1])) && (begin == 0 || text[begin-1] != before[n-1]) {
			continue // what is before ** ends otherwise; texts of users are long
		}
		ok, err := path.Match(before, text[:begin])
		if err != nil {
			return false
		}
		if ok {
			break
		}
	}
	for end := len(text); end >= begin; end-- {
		if rest, err := path.Match(after, text[end:]); err == nil && rest {
			return true
		}
	}
	return false
}
