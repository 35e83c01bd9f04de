// Package keyservice has master keys that do not leave the service that keeps them: the transit engine of Vault and OpenBao, and
// the Key Management Service of AWS.
//
// It owns the requests that wrap and unwrap keys, logging in for them, and what failures mean to an operator. It does not own what
// is wrapped (core/store/atrest does), and keeps nothing on disk. Appliance makes a KeySource of it by the configuration. A key is
// asked for when a store is opened, when keys are changed, and once for each dump and backup: there is nothing to cache but a
// login.
package keyservice
