package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/wire"
)

// SecretRef names a secret: provider:path#key. Its text may be shown and stored; what it refers to is neither.
type SecretRef struct {
	Provider string
	Path     string
	Key      string // of what is at the path; empty: the whole, which built-in providers and certificates take
}

// Built-in providers of secrets. They read what belongs to the service itself, so only the configuration may name them.
const (
	SecretsEnv        = "env"        // env:NAME, a variable of the environment of the service
	SecretsFile       = "file"       // file:/path, or file:/path#key of a JSON object
	SecretsCredential = "credential" // credential:NAME, with #key too: a credential that the service manager gives the service
)

// SecretPluginPrefix begins the names of plugins that are providers of secrets.
const SecretPluginPrefix = "secrets-"

// SecretAliases are the short names of the product's own providers, by the plugin that each is.
var SecretAliases = map[string]string{
	"vault": SecretPluginPrefix + "vault", "kubernetes": SecretPluginPrefix + "kubernetes", "aws": SecretPluginPrefix + "aws",
}

// secretsKubernetes is the provider whose references need no path.
const secretsKubernetes = "kubernetes"

// maxSecretRef bounds the text of a reference.
const maxSecretRef = 2048

var (
	secretPlugin   = regexp.MustCompile(`^secrets-[a-z0-9]+(-[a-z0-9]+)*$`)
	secretVariable = regexp.MustCompile(wire.EnvNamePattern)
	credentialName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$`)
)

// String returns the reference as it is written.
func (r SecretRef) String() string {
	if r.Key == "" {
		return r.Provider + ":" + r.Path
	}
	return r.Provider + ":" + r.Path + "#" + r.Key
}

// BuiltIn reports whether no plugin is asked for the secret.
func (r SecretRef) BuiltIn() bool {
	return r.Provider == SecretsEnv || r.Provider == SecretsFile || r.Provider == SecretsCredential
}

// Plugin returns the plugin that is asked for the secret; "" for a built-in provider.
func (r SecretRef) Plugin() string {
	if plugin, ok := SecretAliases[r.Provider]; ok {
		return plugin
	}
	if r.BuiltIn() {
		return ""
	}
	return r.Provider
}

// ParseSecretRef reads a reference. ok is false for text that is none. The error is for text that begins as one and cannot be
// one: what is wrong, without the text.
func ParseSecretRef(text string) (ref SecretRef, ok bool, err error) {
	provider, rest, found := strings.Cut(text, ":")
	if !found || len(provider) > 63 {
		return SecretRef{}, false, nil
	}
	ref.Provider = provider
	plugin := secretPlugin.MatchString(provider)
	if _, alias := SecretAliases[provider]; !alias && !plugin && !ref.BuiltIn() {
		return SecretRef{}, false, nil
	}
	switch {
	case provider == SecretsEnv:
		if !secretVariable.MatchString(rest) {
			return SecretRef{}, false, errors.New("names no variable of the environment; write env:NAME")
		}
		ref.Path = rest
		return ref, true, nil
	case len(text) > maxSecretRef:
		return SecretRef{}, false, fmt.Errorf("is longer than %d bytes", maxSecretRef)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return SecretRef{}, false, errors.New("holds control characters")
	}
	var keyed bool
	ref.Path, ref.Key, keyed = strings.Cut(rest, "#")
	if keyed && ref.Key == "" {
		return SecretRef{}, false, errors.New("has no key behind #")
	}
	switch {
	case provider == SecretsFile:
		if !strings.HasPrefix(ref.Path, "/") || path.Clean(ref.Path) != ref.Path {
			return SecretRef{}, false, errors.New("names no file; write file:/whole/path, or file:/whole/path#key")
		}
	case provider == SecretsCredential:
		if !credentialName.MatchString(ref.Path) {
			return SecretRef{}, false, errors.New("names no credential; write credential:NAME, or credential:NAME#key")
		}
	case provider == secretsKubernetes && ref.Path == "": // the one that its settings name
	case ref.Path == "" || !keyed:
		return SecretRef{}, false, fmt.Errorf("is not of the form %s:<path>#<key>", provider)
	case strings.Contains("/"+ref.Path+"/", "/../"):
		return SecretRef{}, false, errors.New("must not lead upwards (..)")
	}
	return ref, true, nil
}

// WholeSecretRef reads the name of a secret of several keys: a reference whose key may be missing, or a path alone, which is
// one of provider. The reference has key where the text has none.
func WholeSecretRef(text, provider, key string) (SecretRef, error) {
	name, _, found := strings.Cut(text, ":")
	_, alias := SecretAliases[name]
	named := found && (alias || secretPlugin.MatchString(name) || SecretRef{Provider: name}.BuiltIn())
	switch {
	case !named && provider == "":
		return SecretRef{}, errors.New("names no provider; write it as <provider>:<path>, or set security.secrets.provider")
	case !named:
		text = provider + ":" + text
	case name == SecretsEnv:
		return SecretRef{}, errors.New("must not be env: a variable has no keys")
	}
	whole, own, keyed := strings.Cut(text, "#")
	if keyed && own != "" {
		key = own
	}
	key = cmp.Or(key, "x") // to see whether the rest is well-formed
	ref, ok, err := ParseSecretRef(whole + "#" + key)
	if err == nil && !ok {
		err = errors.New("is no reference to a secret")
	}
	return ref, err
}

// RequestedSecretRef reads a reference where users may write one: in patterns, and in requests. What names a built-in provider
// is plain text there, and so is what begins as a reference and is none.
func RequestedSecretRef(text string) (SecretRef, bool) {
	ref, ok, err := ParseSecretRef(text)
	return ref, ok && err == nil && !ref.BuiltIn()
}

// SecretSource puts secrets in the place of references, at the moment they are needed. Methods are safe for concurrent use;
// errors name the reference and never a value.
type SecretSource interface {
	// SecretText returns the secret that a text refers to, and any other text as it is. VALIDATION_ERROR when the secret is
	// not there, may not be read or is no text, INTERNAL_ERROR (unavailable) while its provider is down.
	SecretText(ctx context.Context, text string) (string, error)
	// SecretEnv returns an environment with secrets in place of references. One without references is returned as it is.
	SecretEnv(ctx context.Context, env map[string]string) (map[string]string, error)
}
