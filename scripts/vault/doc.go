// Package vaultrig is the module of the Vault server that tests of plugins/secrets-vault run: build.sh makes it. It owns
// the versions; nothing imports it, and nothing of it is shipped.
package vaultrig
