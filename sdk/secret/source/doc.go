// Package source makes a secret.Provider of a Source, which reads one place of a store: a secret of Vault, an object of
// a cluster.
//
// It owns what providers have in common: one reading for all references to a place, the field of a reference, results
// in order, who waits for changes, and the asking at intervals where a store does not tell of them. It does not own how
// a store is reached nor what its paths mean, and it keeps no value: only what tells values apart. Secret plugins call it.
package source
