// Package secrets resolves references to secrets: it asks their providers late, keeps what they answer in memory for as long
// as it is good, and asks again before that ends.
//
// It owns the built-in providers (env, file, credential), the cache, what becomes of secrets whose provider is down, and which
// references users may write. It does not own the form of references (core.SecretRef), nor the plugins, which appliance hands
// it from core/pluginhost. Whoever needs a secret asks a core.SecretSource of it at the moment of use and keeps no copy, so
// that a secret that is replaced is in use with the next look. Nothing of it is stored.
package secrets
