// Package coredump keeps the memory of programs that hold secrets off the disk. It owns the limit of the system that does so, and
// nothing else. The server, plugins (plugin.Main) and the holder of agents (sdk/holder/keeper) call it first of all; what they
// start inherits it.
package coredump
