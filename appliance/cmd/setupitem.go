package cmd

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Words that setup takes for no value and for the defaults of its choices.
const (
	setupNone     = "none"
	setupLater    = "later"
	setupYes      = "yes"
	setupNo       = "no"
	tlsOwn        = "own"
	tlsGenerate   = "generate"
	auditOff      = "off"
	auditStore    = "store"
	secretsVault  = "vault"
	secretsAWS    = "aws-secrets-manager"
	firstListen   = "127.0.0.1:8080"
	auditVariable = "WARDROOM_AUDIT_SECRET"
)

// setupItem is one thing that setup asks for, takes by a flag, and writes down.
type setupItem struct {
	flag     string
	keys     []string // that it is written under; problems with them are problems with the answer
	question string   // empty: it is not asked, and only a flag says it
	usage    string   // of the flag
	fallback string   // what is proposed where nothing is configured
	choices  []string
	current  func(s *setup) string // what is in effect; "" where nothing is
	when     func(s *setup) bool   // whether it is of interest; nil: always
	check    func(s *setup, value string) string
}

func (i *setupItem) wanted(s *setup) bool { return i.when == nil || i.when(s) }

// is returns a condition on the answer to another item.
func is(flag string, values ...string) func(s *setup) bool {
	return func(s *setup) bool { return slices.Contains(values, s.values[flag]) }
}

// setupItems are in the order in which they are asked.
var setupItems = []setupItem{
	{
		flag: "listen", keys: []string{"server.listen"}, fallback: firstListen,
		question: "Address to listen on (127.0.0.1:8080 is for this machine alone, :8443 for all)",
		usage:    "address and port; others than this machine reach it only with another address than a loopback one",
		current:  func(s *setup) string { return s.now.Server.Listen },
	},
	{
		flag: "base-url", keys: []string{"server.baseUrl"}, fallback: setupNone,
		question: "Address under which clients reach it, such as https://wardroom.example.com, if that is another",
		usage:    "address under which clients reach the server, if that is another",
		current:  func(s *setup) string { return s.now.Server.BaseURL },
	},
	{
		flag: "tls", keys: []string{"security.mtls"}, fallback: setupNone, choices: []string{setupNone, tlsOwn, tlsGenerate},
		question: "TLS: none, own (files of yours), or generate (an authority of this machine and a certificate by it)",
		usage:    "none, own or generate; --tls-cert and --tls-generate imply it",
		current:  (*setup).currentTLS,
	},
	{
		flag: "tls-cert", keys: []string{"security.mtls.serverCert"}, when: is("tls", tlsOwn),
		question: "File with the certificate and its chain, in PEM", usage: "file with a certificate, in PEM, for TLS",
		current: func(s *setup) string { return s.now.Security.MTLS.ServerCert },
		check:   func(s *setup, value string) string { return s.checkCertificate(value) },
	},
	{
		flag: "tls-key", keys: []string{"security.mtls.serverKey"}, when: is("tls", tlsOwn),
		question: "File with its private key, in PEM", usage: "file with its private key, in PEM",
		current: func(s *setup) string { return s.now.Security.MTLS.ServerKey },
		check: func(s *setup, value string) string {
			if _, err := tls.LoadX509KeyPair(s.values["tls-cert"], value); err != nil {
				return "it cannot be used with " + s.values["tls-cert"] + ": " + lastCause(err)
			}
			return ""
		},
	},
	{
		flag: "tls-generate", when: is("tls", tlsGenerate),
		question: "Names and addresses that clients use, for the certificate, separated by commas",
		usage:    "make an authority of this machine and a certificate by it, for these names and addresses, separated by commas",
		current:  func(s *setup) string { return strings.Join(s.madeFor(), ",") },
		check: func(_ *setup, value string) string {
			for _, name := range splitNames(value) {
				if !validName(name) {
					return name + " is no name and no address"
				}
			}
			if len(splitNames(value)) == 0 {
				return "name at least one, such as that of this machine"
			}
			return ""
		},
	},
	{
		flag: "admin-key", fallback: setupLater, when: func(s *setup) bool { return s.given["admin-key"] || !exists(s.firstKey()) },
		question: "File for a key with all rights, which is made now; later: the first start makes one",
		usage:    "file for a key with all rights, which is made now; without one the first start makes it in the directory of the store",
		check:    (*setup).checkKeyFile,
	},
	{
		flag: "local", keys: []string{"runtimes.local"}, fallback: setupNo, choices: []string{setupYes, setupNo},
		question: "Run agents on this machine?", usage: "run agents on this machine; the default is yes where the plugin is installed",
		current: func(s *setup) string { return s.currentRuntime("local") },
		when:    func(s *setup) bool { return s.given["local"] || !s.elsewhere("runtimes.local") && s.offers("local") },
	},
	{
		flag: "docker", keys: []string{"runtimes.docker"}, fallback: setupNo, choices: []string{setupYes, setupNo},
		question: "Run agents in containers of this machine's engine?", usage: "run agents in containers of this machine's engine",
		current: func(s *setup) string { return s.currentRuntime("docker") },
		when:    func(s *setup) bool { return s.given["docker"] || !s.elsewhere("runtimes.docker") && s.offers("docker") },
	},
	{
		flag: "kubernetes", keys: []string{"runtimes.kubernetes"}, fallback: setupNone,
		question: "Run agents in a cluster? Its kubeconfig, or none", usage: "run agents in the cluster of this kubeconfig; none: in no cluster",
		current: func(s *setup) string { return s.currentCluster() },
		when: func(s *setup) bool {
			return s.given["kubernetes"] || !s.elsewhere("runtimes.kubernetes") && s.offers("kubernetes")
		},
		check: func(_ *setup, value string) string { return checkFile(value) },
	},
	{
		flag: "secrets", keys: []string{"security.secrets"}, fallback: setupNone, choices: []string{setupNone, secretsVault, "kubernetes", secretsAWS},
		question: "Where secrets come from: none, vault, kubernetes or aws-secrets-manager (files, credentials and variables need none)",
		usage:    "provider of secrets: none, vault, kubernetes or aws-secrets-manager",
		current:  func(s *setup) string { return s.now.Security.Secrets.Provider },
	},
	{
		flag: "vault-address", keys: []string{"security.secrets.vault.address"}, when: is("secrets", secretsVault),
		question: "Address of Vault, such as https://vault.example.com:8200", usage: "address of Vault",
		current: func(s *setup) string { return s.now.Security.Secrets.Vault.Address },
		check: func(_ *setup, value string) string {
			if value == "" {
				return "give the address of the server"
			}
			return ""
		},
	},
	{
		flag: "vault-auth", keys: []string{"security.secrets.vault.auth.method"}, when: is("secrets", secretsVault),
		fallback: "token", choices: []string{"token", "approle", "kubernetes"},
		question: "How to log in there: token, approle or kubernetes", usage: "how to log in to Vault: token, approle or kubernetes",
		current: func(s *setup) string { return s.now.Security.Secrets.Vault.Auth.Method },
	},
	{
		flag: "vault-role", when: is("vault-auth", "approle", "kubernetes"),
		question: "The role id (approle), or the role (kubernetes)", usage: "role id of approle, or role of kubernetes, to log in to Vault with",
		current: (*setup).currentVaultRole,
		check: func(_ *setup, value string) string {
			if value == "" {
				return "a role is needed"
			}
			return ""
		},
	},
	{
		flag: "vault-file", when: is("vault-auth", "token", "approle"),
		question: "File with the token, or with the secret id of the role; the service reads it",
		usage:    "file with the token of Vault, or with the secret id of approle",
		current:  (*setup).currentVaultFile,
		check:    func(_ *setup, value string) string { return checkFile(value) },
	},
	{
		flag: "aws-region", keys: []string{"security.secrets.aws.region"}, when: is("secrets", secretsAWS),
		question: "Region of the secrets, such as eu-central-1", usage: "region of AWS Secrets Manager",
		current: func(s *setup) string { return s.now.Security.Secrets.AWS.Region },
		check:   checkRegion,
	},
	{
		flag: "audit", keys: []string{"security.audit"}, fallback: auditStore,
		choices:  []string{auditStore, "file", "elasticsearch", "splunk", "cloudwatch", auditOff},
		question: "Where the audit trail goes: store (and nowhere else), file, elasticsearch, splunk, cloudwatch; off: there is none",
		usage:    "where the audit trail goes: store, file, elasticsearch, splunk, cloudwatch or off",
		current:  (*setup).currentAudit,
	},
	{
		flag: "audit-path", keys: []string{"security.audit.file.path"}, fallback: "/var/log/wardroom/audit.log", when: is("audit", "file"),
		question: "File of the audit trail", usage: "file of the audit trail",
		current: func(s *setup) string { return s.now.Security.Audit.File.Path },
		check: func(_ *setup, value string) string {
			if !filepath.IsAbs(value) {
				return "give the whole path of a file"
			}
			return ""
		},
	},
	{
		flag: "audit-host", keys: []string{"security.audit.elasticsearch.hosts", "security.audit.splunk.host"}, when: is("audit", "elasticsearch", "splunk"),
		question: "Its address: https://search.example.com:9200 of Elasticsearch (several with commas), the host name of Splunk's collector",
		usage:    "addresses of Elasticsearch, or the host of Splunk's collector",
		current:  (*setup).currentAuditHost,
		check: func(_ *setup, value string) string {
			if value == "" {
				return "give its address"
			}
			return ""
		},
	},
	{
		flag: "audit-user", keys: []string{"security.audit.elasticsearch.username"}, fallback: setupNone, when: is("audit", "elasticsearch"),
		question: "User there", usage: "user of Elasticsearch",
		current: func(s *setup) string { return s.now.Security.Audit.Elasticsearch.Username },
	},
	{
		flag: "audit-secret", fallback: auditVariable,
		when: func(s *setup) bool {
			return is("audit", "splunk")(s) || is("audit", "elasticsearch")(s) && s.values["audit-user"] != ""
		},
		question: "Variable of /etc/default/wardroom with its password or token; its name, not its value",
		usage:    "name of the variable of /etc/default/wardroom that holds the password of Elasticsearch or the token of Splunk",
		current:  (*setup).currentVariable,
		check: func(_ *setup, value string) string {
			if !variableName.MatchString(value) {
				return "the name of a variable has capital letters, digits and _, such as " + auditVariable
			}
			return ""
		},
	},
	{
		flag: "audit-group", keys: []string{"security.audit.cloudwatch.logGroup"}, when: is("audit", "cloudwatch"),
		question: "Log group; it must be there", usage: "log group of CloudWatch",
		current: func(s *setup) string { return s.now.Security.Audit.CloudWatch.LogGroup },
		check: func(_ *setup, value string) string {
			if value == "" {
				return "name the log group"
			}
			return ""
		},
	},
	{
		flag: "audit-region", keys: []string{"security.audit.cloudwatch.region"}, when: is("audit", "cloudwatch"),
		question: "Region of the log group, such as eu-central-1", usage: "region of CloudWatch",
		current: func(s *setup) string { return s.now.Security.Audit.CloudWatch.Region },
		check:   checkRegion,
	},
}

func checkRegion(_ *setup, value string) string {
	if value == "" {
		return "name the region"
	}
	return ""
}

// checkFile reports what is wrong with a file that somebody else made.
func checkFile(path string) string {
	switch info, err := os.Stat(path); {
	case !filepath.IsAbs(path):
		return "give the whole path of a file"
	case err != nil:
		return path + ": " + lastCause(err)
	case !info.Mode().IsRegular():
		return path + " is no file"
	}
	return ""
}

// keyMark is what API keys begin with.
const keyMark = "wr_"

// checkKeyFile reports what is wrong with a file for a key. One that is there must hold the key that setup made before.
func (s *setup) checkKeyFile(path string) string {
	switch info, err := os.Stat(filepath.Dir(path)); {
	case !filepath.IsAbs(path):
		return "give the whole path of a file, or " + setupLater
	case err != nil || !info.IsDir():
		return "there is no directory " + filepath.Dir(path)
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if problem := checkFile(path); problem != "" {
		return problem
	}
	if key, err := s.c.readToken(path); err != nil || !strings.HasPrefix(key, keyMark) {
		return path + " is there and holds no key: name another file, or remove it"
	}
	return ""
}

// checkCertificate reports what is wrong with a certificate.
func (s *setup) checkCertificate(path string) string {
	if problem := checkFile(path); problem != "" {
		return problem
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return path + ": " + lastCause(err)
	}
	leaf, err := x509.ParseCertificate(decodePEM(text))
	switch {
	case err != nil:
		return path + " holds no certificate in PEM"
	case !s.c.now().Before(leaf.NotAfter):
		return "the certificate ended on " + leaf.NotAfter.UTC().Format(time.DateOnly)
	}
	return ""
}

func splitNames(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func (s *setup) currentTLS() string {
	switch m := s.now.Security.MTLS; {
	case !m.Enabled:
		return setupNone
	case m.ServerCert == s.tlsFile("server.crt"):
		return tlsGenerate
	}
	return tlsOwn
}

// madeFor returns the names of the certificate that setup made; none where there is none.
func (s *setup) madeFor() []string {
	text, err := os.ReadFile(s.tlsFile("server.crt"))
	if err != nil {
		return nil
	}
	leaf, err := x509.ParseCertificate(decodePEM(text))
	if err != nil {
		return nil
	}
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

func (s *setup) currentRuntime(name string) string {
	if s.now.Runtimes[name] != nil || s.first && name == "local" && s.offers(name) {
		return setupYes
	}
	return setupNo
}

func (s *setup) currentCluster() string {
	return cmp.Or(s.file.text("runtimes", "kubernetes", "config", "kubeconfig"), setupNone)
}

// vaultAuth returns what the drop-in of setup has in the settings of the plugin.
func (s *setup) vaultAuth(name string) string {
	return s.file.text("plugins", "secrets-vault", "config", "auth", name)
}

func (s *setup) currentVaultRole() string {
	if s.values["vault-auth"] == "approle" {
		return s.vaultAuth("roleId")
	}
	return s.now.Security.Secrets.Vault.Auth.Role
}

func (s *setup) currentVaultFile() string {
	if s.values["vault-auth"] == "approle" {
		return s.vaultAuth("secretIdFile")
	}
	return s.vaultAuth("tokenFile")
}

func (s *setup) currentAudit() string {
	switch a := s.now.Security.Audit; {
	case !a.Enabled:
		return auditOff
	case a.Destination == "":
		return auditStore
	default:
		return a.Destination
	}
}

func (s *setup) currentAuditHost() string {
	if s.values["audit"] == "splunk" {
		return s.now.Security.Audit.Splunk.Host
	}
	return strings.Join(s.now.Security.Audit.Elasticsearch.Hosts, ",")
}

// currentVariable returns the variable that the drop-in of setup refers to.
func (s *setup) currentVariable() string {
	for _, path := range [][]string{{"security", "audit", "elasticsearch", "password"}, {"security", "audit", "splunk", "token"}} {
		if found := variableReference.FindStringSubmatch(s.file.text(path...)); found != nil {
			return found[1]
		}
	}
	return ""
}

// elsewhere reports whether a file that is not setup's configures a key.
func (s *setup) elsewhere(key string) bool {
	return s.others.Origin(key) != ""
}
