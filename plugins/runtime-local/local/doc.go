// Package local starts agents on this machine, each in a terminal that a holding process of its own keeps
// (plugins/holder). It owns rooms (home, work and temporary directory of an agent), the rules for work
// directories and environments, limits by cgroups, handles, and the clean-up of what crashes leave. It does not
// own how an agent is driven (sdk/agentcli) nor the terminal (sdk/holder). The runtime-local plugin calls it.
package local
