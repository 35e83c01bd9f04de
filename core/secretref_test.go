package core_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

func TestParseSecretRef(t *testing.T) {
	for _, c := range []struct {
		text   string
		want   core.SecretRef
		plugin string
		err    string // part of it; empty: text that is no reference
	}{
		{text: "vault:secret/data/db#password", want: core.SecretRef{Provider: "vault", Path: "secret/data/db", Key: "password"}, plugin: "secrets-vault"},
		{text: "kubernetes:db#a.b#c", want: core.SecretRef{Provider: "kubernetes", Path: "db", Key: "a.b#c"}, plugin: "secrets-kubernetes"},
		{text: "aws:prod/db#user", want: core.SecretRef{Provider: "aws", Path: "prod/db", Key: "user"}, plugin: "secrets-aws"},
		{text: "secrets-json:db#password", want: core.SecretRef{Provider: "secrets-json", Path: "db", Key: "password"}, plugin: "secrets-json"},
		{text: "kubernetes:", want: core.SecretRef{Provider: "kubernetes"}, plugin: "secrets-kubernetes"},
		{text: "kubernetes:#user", want: core.SecretRef{Provider: "kubernetes", Key: "user"}, plugin: "secrets-kubernetes"},
		{text: "env:DB_PASSWORD", want: core.SecretRef{Provider: "env", Path: "DB_PASSWORD"}},
		{text: "file:/run/secrets/db", want: core.SecretRef{Provider: "file", Path: "/run/secrets/db"}},
		{text: "file:/run/secrets/db#user", want: core.SecretRef{Provider: "file", Path: "/run/secrets/db", Key: "user"}},
		{text: "credential:db", want: core.SecretRef{Provider: "credential", Path: "db"}},
		{text: "credential:db#user", want: core.SecretRef{Provider: "credential", Path: "db", Key: "user"}},
		{text: ""}, {text: "hunter2"}, {text: "https://example.com/#top"}, {text: "postgres://u:p@h/db"}, {text: "Vault:a#b"}, {text: "secrets:a#b"},
		{text: "vault:no-key", err: "vault:<path>#<key>"},
		{text: "vault:#key", err: "vault:<path>#<key>"},
		{text: "vault:a#", err: "no key"},
		{text: "vault:a/../b#c", err: "upwards"},
		{text: "vault:a\nb#c", err: "control"},
		{text: "vault:" + strings.Repeat("a", 3000) + "#b", err: "longer"},
		{text: "env:", err: "env:NAME"},
		{text: "env:a b", err: "env:NAME"},
		{text: "file:relative", err: "whole/path"},
		{text: "file:/a/../etc/shadow", err: "whole/path"},
		{text: "credential:../x", err: "credential:NAME"},
	} {
		ref, ok, err := core.ParseSecretRef(c.text)
		switch {
		case c.err != "":
			if ok || err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, %v", c.text, ok, err)
			}
			continue
		case err != nil || ok != (c.want != core.SecretRef{}):
			t.Errorf("%q: %v, %v", c.text, ok, err)
			continue
		}
		if ref != c.want || ok && (ref.String() != c.text || ref.Plugin() != c.plugin || ref.BuiltIn() != (c.plugin == "")) {
			t.Errorf("%q is read as %+v of %q", c.text, ref, ref.Plugin())
		}
	}
}

// What users write must never read what is the service's own.
func TestRequestedSecretRef(t *testing.T) {
	for text, want := range map[string]bool{
		"vault:a#b": true, "secrets-x:a#b": true, "vault:a": false, "env:PATH": false, "file:/etc/shadow": false, "credential:x": false, "plain": false,
	} {
		if _, ok := core.RequestedSecretRef(text); ok != want {
			t.Errorf("%q: %v", text, ok)
		}
	}
}
