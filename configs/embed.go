// Package configs holds the files that ship with Wardroom: the packaged configuration, its JSON Schema, the
// built-in patterns and examples. The binary embeds what it prints or needs at run time, so that it works
// without its package.
//
// It holds no logic and imports nothing; core/config makes the first two files and its tests keep them in
// step. The appliance's config commands read them, and the appliance gives the patterns to core/pattern.
package configs

import _ "embed"

// Template is the packaged configuration: every key, commented out, with its default.
//
//go:embed wardroom.yaml
var Template []byte

// Packaged is the configuration that packages install: API keys, roles, rate limits and the audit trail, on a
// loopback address.
//
//go:embed packaged.yaml
var Packaged []byte

// Schema is the JSON Schema (2020-12) of the configuration file.
//
//go:embed wardroom.schema.json
var Schema []byte

var (
	//go:embed patterns/startup-team.yaml
	startupTeam string
	//go:embed patterns/enterprise-review.yaml
	enterpriseReview string
	//go:embed patterns/pair-programming.yaml
	pairProgramming string
)

// Patterns returns the definitions of the built-in patterns.
func Patterns() []string { return []string{startupTeam, enterpriseReview, pairProgramming} }
