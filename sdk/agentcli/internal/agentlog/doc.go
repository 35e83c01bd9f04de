// Package agentlog keeps the log of one agent: lines with a time and a stream, bounded, across restarts.
//
// It owns two files, the one that is written and the one before it, as JSON lines; together they hold at most
// about MaxBytes. It does not know what the lines mean, and takes secrets out only as the caller tells it to.
// The sessions of sdk/agentcli write, its Logs method reads.
package agentlog
