// Package kubernetes is the cluster runtime: it starts agents in pods of a Kubernetes cluster, behind the contract of
// sdk/agentcli.
//
// The first process of a pod is the holder's binary (sdk/holder/keeper), which takes in what loses its parent; a holder of each
// life is started beside it, and keeps the agent's terminal. The plugin reaches it by an exec through the API server, and
// nothing of the terminal stays in that: an exec that is cut, or an API server that is away, loses nothing.
//
// It owns pods, their plan and what is left over of them, the owner object and the network policy. It does not own the
// driving of coding tools (sdk/agentcli), the holder and how files are written where it is (sdk/holder), nor the protocols
// that it is reached by (sdk/runtime/plugin). The command runtime-kubernetes serves its Definition.
package kubernetes
