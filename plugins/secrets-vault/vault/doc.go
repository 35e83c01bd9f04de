// Package vault is the secret provider over the HTTP interface of Vault: versioned and plain key-value secrets, and
// credentials that Vault makes and takes back.
//
// It owns the token it reads with (login, renewal, login again) and the leases of the credentials that it was given,
// which it renews while somebody wants them and gives back at the end. It does not own policies, mounts or roles, and
// it never writes a secret. It keeps no value but those of leases.
package vault
