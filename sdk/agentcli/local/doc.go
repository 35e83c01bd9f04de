// Package local makes rooms for agents in a directory of this machine: for launchers that start commands
// here, plainly or in a sandbox that shares the file system.
//
// It owns the directories of a room, the allow-listed environment, looking up commands, writing the files of an
// adapter, and ending every process that was started in a room, by a mark in its environment. It does not start
// anything, and does not enforce limits. Authors of launchers embed Rooms, which is the Prepare and Remove of an
// agentcli.Launcher.
package local
