// Package cluster is the secret provider over the API of a Kubernetes cluster, from inside it or by a kubeconfig.
//
// It owns the reading of secrets by name, and the watch of each that somebody waits for. It needs the verbs get and
// watch, and no list. It does not own roles nor the secrets, never writes one, and keeps no value.
package cluster
