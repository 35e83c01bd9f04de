// Package conformance holds the checks that a plugin must pass: Runtime, Secret and Audit run them as Go tests,
// Quick runs the harmless part of them against a plugin that is connected.
//
// It owns what the contracts of sdk/runtime, sdk/secret and sdk/audit mean in practice: each check is one promise,
// and its failure says which. It does not own how a plugin is started (sdk/plugintest). Authors of plugins call
// it from their tests; the appliance calls Quick to verify a plugin. It does not import package testing, so that
// a product may use it.
package conformance
