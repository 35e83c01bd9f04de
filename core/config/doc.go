// Package config is the configuration file: its model, its defaults, and the strict way from text to a
// checked Config.
//
// It owns every key an operator may write, with type, bounds, default and description in one table from
// which the decoder, the JSON Schema, the packaged file and the effective dump are all made. It does not
// act on any value, open the network or touch the store, and it refuses keys that no feature honours yet.
// The appliance and its `config` commands call it at start and on SIGHUP; the other packages never see
// this one, they are handed the values they need.
//
// A Config is read-only once it is loaded and may then be shared between goroutines without a lock. What
// may change while the process runs is a type of its own, Reloadable.
package config
