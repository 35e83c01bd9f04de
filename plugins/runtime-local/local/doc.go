// Package local starts agents on this machine, each in a terminal that a holding process of its own keeps
// (plugins/holder). It owns what is this machine's alone: holders and their handles, limits by cgroups, the other
// user that agents may run as, what they are shut out of, and the clean-up of what crashes leave. It does not own
// rooms, work directories and environments (sdk/agentcli/local), how an agent is driven (sdk/agentcli), the terminal
// (sdk/holder), nor the two faces of a runtime (sdk/runtime/plugin). The runtime-local plugin calls it.
package local
