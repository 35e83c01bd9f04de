package house

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"regexp"
)

// apacheSHA256 is the hash of the licence text as the Apache Software Foundation publishes it.
const apacheSHA256 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"

// version is what VERSION holds: a SemVer core, with a pre-release if there is one.
var version = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?\n$`)

// CheckLicence reports a missing or altered licence, a missing notice, and a malformed version.
func CheckLicence(t *Tree) ([]Finding, error) {
	var findings []Finding
	for name, check := range map[string]func([]byte) string{
		"LICENSE": func(data []byte) string {
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != apacheSHA256 {
				return "is not the unaltered text of the Apache License 2.0"
			}
			return ""
		},
		"NOTICE": func(data []byte) string {
			if len(data) == 0 {
				return "is empty"
			}
			return ""
		},
		"VERSION": func(data []byte) string {
			if !version.Match(data) {
				return "does not hold one line such as 1.2.3"
			}
			return ""
		},
	} {
		data, err := fs.ReadFile(t.fsys, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			findings = append(findings, Finding{name, "is missing; whoever gets the source must get it too"})
		case err != nil:
			return nil, err
		default:
			if why := check(data); why != "" {
				findings = append(findings, Finding{name, why})
			}
		}
	}
	return findings, nil
}
