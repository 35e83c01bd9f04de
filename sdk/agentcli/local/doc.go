// Package local makes rooms for agents in a directory of this machine: for launchers that start commands here,
// plainly, under another user or in a sandbox, and for those whose containers get the directories mounted.
//
// It owns the directories of a room, which work directories are allowed, the allow-listed environment, looking up
// commands, the files of an adapter and of an operator's login, and ending every process that was started in a
// room, by a mark in its environment. It does not start anything, and does not enforce limits. Authors of launchers
// embed Rooms, which is the Prepare and Remove of an agentcli.Launcher; the local runtime is built of it too.
package local
