package main

import (
	"slices"
	"strings"
	"testing"
)

// Packages that are asked for by name need the programs of these alone; a name that no package has is an error that says which do.
func TestOnly(t *testing.T) {
	all := []string{"audit-file", "audit-splunk", "holder", "runtime-docker", "runtime-local", "secrets-vault", "other"}
	for name, c := range map[string]struct {
		only, plugins []string
		problem       string
	}{
		"all":           {nil, all, ""},
		"no plugin":     {[]string{"wardroom", "wardroom-sdk"}, nil, ""},
		"a group":       {[]string{"wardroom-runtime-local"}, []string{"holder", "runtime-local"}, ""},
		"without group": {[]string{"wardroom-other", "wardroom-audit"}, []string{"audit-file", "audit-splunk", "other"}, ""},
		"unknown": {[]string{"wardroom", "wardroom-local"}, nil, `-only: there is no package "wardroom-local"; there are wardroom, ` +
			"wardroom-audit, wardroom-other, wardroom-runtime-docker, wardroom-runtime-local, wardroom-sdk, wardroom-secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &builder{options: options{only: c.only}, plugins: slices.Clone(all)}
			err := b.choose()
			if c.problem != "" {
				if err == nil || err.Error() != c.problem {
					t.Errorf("the problem is %v, want %s", err, c.problem)
				}
				return
			}
			if err != nil || strings.Join(b.plugins, " ") != strings.Join(c.plugins, " ") {
				t.Errorf("the plugins are %v (%v), want %v", b.plugins, err, c.plugins)
			}
			for _, p := range []string{"wardroom", "wardroom-sdk"} {
				if want := len(c.only) == 0 || slices.Contains(c.only, p); b.wanted(p) != want {
					t.Errorf("%s is made: %t, want %t", p, !want, want)
				}
			}
		})
	}
}
