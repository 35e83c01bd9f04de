// Package execcredential gets the credential for a cluster from the command of a kubeconfig, as client-go does by itself, but within
// bounds.
//
// It owns the run of the command, one at a time for all who wait, and the credential that the last one gave. It does not own the
// kubeconfig, the connections and the client: plugins that speak to a cluster have those, and it imports nothing of Kubernetes.
package execcredential
