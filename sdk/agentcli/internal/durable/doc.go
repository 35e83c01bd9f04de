// Package durable replaces files in one step, so that whoever reads one after a crash finds the old content
// or the new, and never a part.
//
// It owns the order of temporary file, sync and rename; it knows nothing of what the files hold. The runtime
// of sdk/agentcli keeps its records with it.
package durable
