package config

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// redacted is what every printed form of a Secret is.
const redacted = "***"

// Secret is a value that must not be shown. Every way of printing or encoding it yields ***; the text
// itself comes out of Reveal only. The zero value is the empty secret.
//
// The text sits behind a pointer so that fmt, which cannot call methods on unexported fields, prints an
// address and not the text when a Secret is buried in somebody's private struct.
type Secret struct {
	text *string
}

var (
	_ fmt.Formatter  = Secret{}
	_ slog.LogValuer = Secret{}
)

// NewSecret wraps text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// ReadYAML implements schema.NodeReader.
func (s *Secret) ReadYAML(r *schema.YAML, path string, node *yaml.Node) bool {
	text, err := r.Secret(node)
	if err != nil {
		r.Bad(path, node, "%s", err)
		return false
	}
	*s = NewSecret(text)
	return true
}

// readSecrets adds to secrets what a mapping has under names that somebody chose. check says what is wrong with one.
func readSecrets(r *schema.YAML, path string, node *yaml.Node, secrets map[string]Secret, check func(name, text string) error) {
	r.Pairs(path, node, func(name, value *yaml.Node) {
		at := schema.Join(path, schema.Clip(name.Value))
		if !r.Plain(at, value) {
			return
		}
		text, err := r.Secret(value)
		if err == nil {
			err = check(name.Value, text)
		}
		if err != nil {
			r.Bad(at, value, "%s", err)
			return
		}
		secrets[name.Value] = NewSecret(text)
	})
}

// Reveal returns the text. Callers hand it to what needs it and keep no copy.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.text == nil }

// Equal compares in constant time.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// String returns ***, also for the empty secret: whether one is set is not shown either.
func (s Secret) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return redacted }

// Format implements fmt.Formatter, which takes every verb, %x and %q included.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// MarshalText covers encoders that know neither JSON nor YAML methods, and map keys.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalYAML implements yaml.Marshaler.
func (s Secret) MarshalYAML() (any, error) { return redacted, nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
