// Package configs holds the files that ship with Wardroom: the packaged configuration, its JSON Schema and
// examples. The binary embeds what it prints or needs at run time, so that it works without its package.
//
// It holds no logic and imports nothing; core/config makes the first two files and its tests keep them in
// step. The appliance's config commands read them.
package configs

import _ "embed"

// Template is the packaged configuration: every key, commented out, with its default.
//
//go:embed wardroom.yaml
var Template []byte

// Schema is the JSON Schema (2020-12) of the configuration file.
//
//go:embed wardroom.schema.json
var Schema []byte
