// Package cert owns the certificates of our listener: it reads them from their files, takes up new ones while the
// process runs, checks those of clients, and tells when ours end. It does not listen, and does not decide what a client
// may do. appliance makes one Source from security.mtls and gives its TLS configuration to the listener.
package cert
