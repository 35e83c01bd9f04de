package vault

import (
	"cmp"
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	_ "embed" // of the schema

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret/source"
)

//go:embed schema.json
var schema []byte

// Methods to log in.
const (
	methodToken      = "token"
	methodAppRole    = "approle"
	methodKubernetes = "kubernetes"
)

const (
	defaultTimeout = 10 * time.Second
	defaultPoll    = 30 * time.Second
	defaultJWT     = "/var/run/secrets/kubernetes.io/serviceaccount/token"
)

// Config is the configuration of the plugin; schema.json says what each field means.
type Config struct {
	Address      string `json:"address"`
	Namespace    string `json:"namespace"`
	CACert       string `json:"caCert"`
	Auth         Auth   `json:"auth"`
	SecretPath   string `json:"secretPath"`
	Timeout      string `json:"timeout"`
	PollInterval string `json:"pollInterval"`

	timeout, poll time.Duration // Timeout and PollInterval, read
}

// Auth is how the provider logs in.
type Auth struct {
	Method       string `json:"method"`
	Mount        string `json:"mount"`
	TokenFile    string `json:"tokenFile"`
	RoleID       string `json:"roleId"`
	SecretIDFile string `json:"secretIdFile"`
	Role         string `json:"role"`
	JWTFile      string `json:"jwtFile"`
}

// decode reads a configuration that satisfies the schema, fills in defaults, and finds what the schema cannot say. What
// may be mended without a change here is a warning.
func decode(data []byte) (Config, plugin.Problems) {
	var problems plugin.Problems
	c := Config{timeout: defaultTimeout, poll: defaultPoll}
	if !source.Decode(data, &c, &problems) {
		return c, problems
	}
	c.Address = strings.TrimSuffix(c.Address, "/")
	if u, err := url.Parse(c.Address); err != nil || u.Hostname() == "" {
		problems.Add("/address", plugin.SeverityError, "is no address, such as https://vault.example.com:8200")
	} else if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		problems.Add("/address", plugin.SeverityWarning, "is without TLS: tokens and secrets cross the network in clear")
	}
	source.Pace(c.Timeout, c.PollInterval, &c.timeout, &c.poll, &problems)
	if c.CACert != "" {
		if pem, err := os.ReadFile(c.CACert); err != nil {
			problems.Add("/caCert", plugin.SeverityWarning, "cannot be read at the moment")
		} else if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			problems.Add("/caCert", plugin.SeverityError, "holds no certificate in PEM form")
		}
	}
	c.Auth.check(&problems)
	return c, problems
}

// check finds keys that the method lacks, and those that it has no use for.
func (a *Auth) check(problems *plugin.Problems) {
	keys := []struct {
		name, value string
		methods     string // that use it
		needed      bool
	}{
		{"mount", a.Mount, methodAppRole + " " + methodKubernetes, false},
		{"tokenFile", a.TokenFile, methodToken, true},
		{"roleId", a.RoleID, methodAppRole, true},
		{"secretIdFile", a.SecretIDFile, methodAppRole, false},
		{"role", a.Role, methodKubernetes, true},
		{"jwtFile", a.JWTFile, methodKubernetes, false},
	}
	for _, key := range keys {
		used := strings.Contains(key.methods, a.Method)
		switch {
		case used && key.needed && key.value == "":
			problems.Add("/auth/"+key.name, plugin.SeverityError, "is needed with the method %s", a.Method)
		case !used && key.value != "":
			problems.Add("/auth/"+key.name, plugin.SeverityError, "does nothing with the method %s; it is for %s", a.Method, strings.ReplaceAll(key.methods, " ", " and "))
		}
	}
	a.Mount = cmp.Or(a.Mount, a.Method)
	if a.JWTFile == "" && a.Method == methodKubernetes {
		a.JWTFile = defaultJWT
	}
	for _, file := range []struct{ name, path string }{{"tokenFile", a.TokenFile}, {"secretIdFile", a.SecretIDFile}, {"jwtFile", a.JWTFile}} {
		if file.path == "" {
			continue
		}
		if _, err := readCredential(file.path); err != nil {
			problems.Add("/auth/"+file.name, plugin.SeverityWarning, "holds nothing that can be read at the moment")
		}
	}
}

// maxCredential bounds a file with a credential.
const maxCredential = 64 << 10

// readCredential reads a file with a token or the like.
func readCredential(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read from
	data := make([]byte, maxCredential+1)
	n, err := f.Read(data)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data[:n]))
	if text == "" || n > maxCredential || strings.ContainsAny(text, "\r\n\x00") {
		return "", os.ErrInvalid
	}
	return text, nil
}
