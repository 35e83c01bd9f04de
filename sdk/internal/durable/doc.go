// Package durable replaces files in one step, so that whoever reads one after a crash finds the old content
// or the new, and never a part.
//
// It owns the order of temporary file, sync and rename; it knows nothing of what the files hold. Who
// keeps state in the sdk writes it so: the runtime of sdk/agentcli, sessions of sdk/agent, the holder.
package durable
