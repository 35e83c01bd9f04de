package config_test

import (
	"slices"
	"strings"
	"testing"
)

// The warning about a section of security that is given and not switched on has its name.
func TestWarnings(t *testing.T) {
	const keys = "security:\n  authentication: {apiKeys: {enabled: true}}\n"
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"NoProvider":          {"security: {secrets: {vault: {address: 'https://v:8200'}}}", []string{"security.secrets.vault"}},
		"OtherProvider":       {"security: {secrets: {provider: vault, vault: {address: 'https://v:8200'}, aws: {region: eu-central-1}}}", []string{"security.secrets.aws"}},
		"Provider":            {"security: {secrets: {provider: vault, vault: {address: 'https://v:8200'}}}", nil},
		"Kubernetes":          {"security: {secrets: {kubernetes: {secretRef: {name: a, key: b}}}}", []string{"security.secrets.kubernetes"}},
		"Destination":         {"security: {audit: {enabled: true, splunk: {host: s}}}", []string{"security.audit.splunk"}},
		"AuditOff":            {"security: {audit: {level: verbose, file: {path: a}}}", []string{"security.audit"}},
		"AuditSwitchedOff":    {"security: {audit: {enabled: false, level: verbose}}", nil},
		"AuditOn":             {"security: {audit: {enabled: true, level: verbose}}", nil},
		"Masking":             {"security: {dataProtection: {masking: {fields: [a]}}}", []string{"security.dataProtection.masking"}},
		"InputValidation":     {"security: {inputValidation: {maxSize: 1MiB}}", []string{"security.inputValidation"}},
		"AtRest":              {"security: {encryption: {atRest: {file: k}}}", []string{"security.encryption.atRest"}},
		"AtRestProvider":      {"security: {encryption: {atRest: {enabled: true, file: k, variable: V}}}", []string{"security.encryption.atRest.variable"}},
		"MTLS":                {"security: {mtls: {clientAuth: request}}", []string{"security.mtls"}},
		"RBAC":                {keys + "  rbac: {defaultRole: viewer}", []string{"security.rbac"}},
		"SSO":                 {keys + "  sso: {okta: {domain: a.example.com}}", []string{"security.sso"}},
		"JWT":                 {"security: {authentication: {apiKeys: {enabled: true}, jwt: {audience: a}}}", []string{"security.authentication.jwt"}},
		"Nothing":             {"{}", nil},
		"AgentAuthentication": {keys + "  agentAuth: {token: {registrationRequired: false}}", []string{"security.agentAuth.token"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range c.Warnings() {
				got = append(got, w.Key)
				if w.Line == 0 || !strings.Contains(w.Reason, "does nothing") {
					t.Errorf("%+v", w)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// A file that a start refuses, unless it is given --insecure, is warned of.
func TestWarningOfAnOpenServer(t *testing.T) {
	const open = "server: {listen: '0.0.0.0:8080'}"
	for text, warned := range map[string]bool{
		open: true, "server: {listen: '127.0.0.1:8080'}": false, open + "\nsecurity: {authentication: {apiKeys: {enabled: true}}}": false,
	} {
		c, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		found := c.Warnings()
		if got := len(found) == 1 && found[0].Key == "server.listen" && strings.Contains(found[0].Reason, "--insecure"); got != warned {
			t.Errorf("%s: %+v", text, found)
		}
	}
}

// Variables that no agent may be given are warned of, each by its name.
func TestWarningsOfVariables(t *testing.T) {
	c, err := parse("agentTypes: {shell: {command: sh, env: {HOME: /x, LD_PRELOAD: y, HOMEPAGE: z}}}")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range c.Warnings() {
		name, _, _ := strings.Cut(strings.TrimPrefix(w.Reason, "names "), ",")
		got = append(got, w.Key+" "+name)
		if w.Line != 1 {
			t.Errorf("%+v", w)
		}
	}
	if want := []string{"agentTypes.shell.env HOME", "agentTypes.shell.env LD_PRELOAD"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
