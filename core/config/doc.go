// Package config is the configuration file: its model, its defaults, and the strict way from text to a
// checked Config.
//
// It owns every key an operator may write. A key is one field of Config or of what is in it, in config.go,
// agenttype.go, observability.go, plugin.go, runtime.go, security*.go, thread.go or webhook.go: its tags are the name, default, bounds, rules and whether
// a reload takes it over, its comment is the text for operators. The reader, the checks, the JSON Schema, the packaged
// file, the effective dump and the reload are made of them, so that a new key is written in two places: here, and
// where appliance hands the value to what needs it. A rule of texts that is new is written in rules.go, one between
// keys in validate.go or entryrules.go; `go test ./core/config -update` then writes configs/ anew.
//
// It does not act on any value, open the network or touch the store, and it refuses keys that no feature honours yet.
// The appliance and its `config` commands call it at start and on SIGHUP; the other packages never see
// this one, they are handed the values they need.
//
// A Config is read-only once it is loaded and may then be shared between goroutines without a lock.
package config
