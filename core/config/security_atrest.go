package config

import (
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// AtRest is how the store is encrypted on disk.
type AtRest struct {
	// Encrypt the store, and dumps and backups of it. A store in clear is encrypted at the next start, for which the disk needs
	// room for a copy. From then on it is opened with its key only.
	Enabled bool `json:"enabled"`
	// Hide the names in keys of the database too: of patterns and people, and metadata of executions. It counts when a store is
	// made or first encrypted, and costs more than the rest of the encryption.
	Names bool `json:"names"`
	// Where the master key is, at the start and when keys are changed: the file below, a variable of the environment, a
	// credential that systemd gives the service, or a service that keeps it to itself: the transit engine of Vault, or AWS KMS.
	Provider string `json:"provider" default:"file" enum:"file,environment,systemd,vault-transit,aws-kms"`
	// Id of the master key of the providers file, environment and systemd, as `wardroom store key new` shows it. Another key is
	// refused. Empty: any key.
	KeyID string `json:"keyId" check:"is=storeKeyId"`
	// File of `wardroom store key new`, which nobody but the user of the service may read. It lies outside of store.path.
	File string `json:"file" check:"path"`
	// Name of the variable of the environment.
	Variable string `json:"variable" default:"WARDROOM_STORE_KEY" check:"is=notEmpty"`
	// Name of the credential (LoadCredential= or LoadCredentialEncrypted= of the unit).
	Credential string `json:"credential" default:"wardroom-store-key" check:"is=entry"`
	// Key of the provider vault-transit.
	Vault VaultTransit `json:"vault"`
	// Key of the provider aws-kms.
	KMS AWSKMS `json:"kms"`
}

// VaultTransit is a key of the transit engine of Vault or OpenBao.
type VaultTransit struct {
	// Address of the server, such as https://vault.example.com:8200.
	Address string `json:"address" check:"is=url"`
	// Namespace, where the server has any.
	Namespace string `json:"namespace"`
	// PEM file of authorities. Empty: those of the system.
	CACert string `json:"caCert" check:"path"`
	// Where the transit engine is enabled.
	Mount string `json:"mount" default:"transit" check:"is=vaultPath"`
	// Name of the key, of the type aes256-gcm96.
	Key string `json:"key" check:"is=vaultPath"`
	// How the service logs in.
	Auth VaultTransitAuth `json:"auth"`
	// How long a request may take.
	Timeout time.Duration `json:"timeout" default:"10s" check:"min=100ms,max=2m"`
}

// VaultTransitAuth is how the service logs in for its key.
type VaultTransitAuth struct {
	// Method: token, approle or kubernetes.
	Method string `json:"method" enum:",token,approle,kubernetes"`
	// Where the method is enabled below auth/. Empty: its name.
	Mount string `json:"mount" check:"is=vaultPath"`
	// File with the token, of the method token.
	TokenFile string `json:"tokenFile" check:"path"`
	// Id of the role, of the method approle.
	RoleID string `json:"roleId"`
	// File with the secret id, of the method approle, if the role asks for one.
	SecretIDFile string `json:"secretIdFile" check:"path"`
	// Role, of the method kubernetes.
	Role string `json:"role"`
	// File with the token of the service account, of the method kubernetes.
	JWTFile string `json:"jwtFile" default:"/var/run/secrets/kubernetes.io/serviceaccount/token" check:"path"`
}

// AWSKMS is a symmetric key of the Key Management Service of AWS. Credentials come from the environment, from files of the AWS
// tools, from the container or from the machine.
type AWSKMS struct {
	// Region, such as eu-central-1.
	Region string `json:"region" check:"is=awsRegion"`
	// Id or ARN of the key, or alias/NAME.
	Key string `json:"key"`
	// Address of the service. Empty: that of the region.
	Endpoint string `json:"endpoint" check:"is=url"`
	// How long a request may take.
	Timeout time.Duration `json:"timeout" default:"10s" check:"min=100ms,max=2m"`
}

// Providers of the master key.
const (
	KeyFromFile        = "file"
	KeyFromEnvironment = "environment"
	KeyFromSystemd     = "systemd"
	KeyInVault         = "vault-transit"
	KeyInKMS           = "aws-kms"
)

var (
	storeKeyID = regexp.MustCompile(`^[0-9a-f]{16}$`)
	vaultPath  = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`)
	awsRegion  = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]+$`)
)

// atRest reports a master key that cannot be found, or protects nothing.
func (r *ruling) atRest() {
	const entry = "security.encryption.atRest"
	a := &r.config.Security.Encryption.AtRest
	switch {
	case a.Enabled && a.Provider == KeyInVault:
		r.vaultTransit(entry+".vault", &a.Vault)
	case a.Enabled && a.Provider == KeyInKMS:
		r.awsKMS(entry+".kms", &a.KMS)
	}
	if a.KeyID != "" && (a.Provider == KeyInVault || a.Provider == KeyInKMS) {
		r.refuse(entry, "keyId", "is of keys of `wardroom store key new`; the provider %s has its key by name", a.Provider)
	}
	switch {
	case a.Enabled && a.Provider == KeyFromFile && a.File == "":
		r.refuse(entry, "file", "is missing: make one with `wardroom store key new FILE`")
	case a.File != "" && within(r.config.Store.Path, a.File):
		r.refuse(entry, "file", "lies in store.path, so that whoever copies the store has its key: put it elsewhere")
	}
}

// vaultTransit reports a key of Vault that cannot be asked for.
func (r *ruling) vaultTransit(entry string, v *VaultTransit) {
	for _, key := range []struct{ name, value string }{{"address", v.Address}, {"key", v.Key}} {
		if key.value == "" {
			r.refuse(entry, key.name, "is missing: the provider %s needs it", KeyInVault)
		}
	}
	if inClear(v.Address) {
		r.refuse(entry, "address", "is without TLS, so that keys of the store cross the network in clear: begin it with https://")
	}
	auth := entry + ".auth"
	need := func(name, value string) {
		if value == "" {
			r.refuse(auth, name, "is missing: the method %s needs it", v.Auth.Method)
		}
	}
	switch v.Auth.Method {
	case "":
		r.refuse(auth, "method", "is missing: token, approle or kubernetes")
	case "token":
		need("tokenFile", v.Auth.TokenFile)
	case "approle":
		need("roleId", v.Auth.RoleID)
	case "kubernetes":
		need("role", v.Auth.Role)
	}
}

// awsKMS reports a key of AWS that cannot be asked for.
func (r *ruling) awsKMS(entry string, k *AWSKMS) {
	for _, key := range []struct{ name, value string }{{"region", k.Region}, {"key", k.Key}} {
		if key.value == "" {
			r.refuse(entry, key.name, "is missing: the provider %s needs it", KeyInKMS)
		}
	}
	if inClear(k.Endpoint) {
		r.refuse(entry, "endpoint", "is without TLS, so that keys of the store cross the network in clear: begin it with https://")
	}
}

// inClear reports whether an address is without TLS and not of this machine.
func inClear(address string) bool {
	host, found := plainHost(address)
	return found && !onLoopback(host)
}

// within reports whether a path lies in a directory, going by names.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
