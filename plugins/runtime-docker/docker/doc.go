// Package docker is the container runtime: it starts agents in containers of a Docker engine on this machine, behind the
// contract of sdk/agentcli.
//
// The first process of a container is the holder (sdk/holder), which keeps the agent's terminal; the plugin speaks to it
// over a socket in a directory that both see. The engine makes, measures and removes containers, and nothing of the
// terminal goes through it: a broken attach, or an engine that is restarted with live-restore, loses nothing.
//
// It owns containers, images, networks, volumes and what is left over of them. It does not own rooms (sdk/agentcli/local),
// the driving of coding tools (sdk/agentcli), nor the protocols that it is reached by (sdk/runtime/plugin). The command
// runtime-docker serves its Definition.
package docker
