package keyservice

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core/store/atrest"
)

// awsCredentials finds credentials where programs on AWS look for them, in this order: variables of the environment, a token
// of a web identity, the shared file, the container, the machine. It keeps those that expire until shortly before.
type awsCredentials struct {
	region  string
	getenv  func(string) string
	timeout time.Duration

	mu  sync.Mutex // guards key; held while somebody asks
	key awsKey
}

// credentialMargin is how long before their end credentials are not used any more.
const credentialMargin = time.Minute

// Addresses of AWS. Links of the machine and of containers are never reached over a proxy.
const (
	containerHost = "http://169.254.170.2"
	machineHost   = "http://169.254.169.254"
)

func (a *awsCredentials) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.key = awsKey{}
}

// get returns credentials. The error wraps atrest.ErrKey.
func (a *awsCredentials) get(ctx context.Context) (awsKey, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.key.id != "" && (a.key.expires.IsZero() || time.Until(a.key.expires) > credentialMargin) {
		return a.key, nil
	}
	key, from, err := a.find(ctx)
	if err == nil && (key.id == "" || key.secret == "") {
		err = fmt.Errorf("%w: %s gave something else than credentials", atrest.ErrKey, from)
	}
	if err != nil {
		return awsKey{}, err
	}
	if !key.expires.IsZero() { // what does not expire may be replaced at its source
		a.key = key
	}
	return key, nil
}

func (a *awsCredentials) find(ctx context.Context) (key awsKey, from string, err error) {
	if id := a.getenv("AWS_ACCESS_KEY_ID"); id != "" {
		return awsKey{id: id, secret: a.getenv("AWS_SECRET_ACCESS_KEY"), session: a.getenv("AWS_SESSION_TOKEN")}, "the environment", nil
	}
	if file := a.getenv("AWS_WEB_IDENTITY_TOKEN_FILE"); file != "" {
		key, err = a.webIdentity(ctx, file)
		return key, "AWS STS", err
	}
	if path := a.sharedFile(); path != "" {
		key, err = a.profile(path)
		return key, "the file " + path, err
	}
	if a.getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" || a.getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" {
		key, err = a.container(ctx)
		return key, "the container", err
	}
	if strings.EqualFold(a.getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return key, "", fmt.Errorf("%w: there are no credentials of AWS: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a file by AWS_SHARED_CREDENTIALS_FILE, "+
			"or give the machine or the pod a role", atrest.ErrKey)
	}
	key, err = a.machine(ctx)
	return key, "the machine", err
}

// sharedFile returns the file of credentials if there is one.
func (a *awsCredentials) sharedFile() string {
	path := a.getenv("AWS_SHARED_CREDENTIALS_FILE")
	if path != "" {
		return path
	}
	if home := a.getenv("HOME"); home != "" {
		path = filepath.Join(home, ".aws", "credentials")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// profile reads a section of the shared file.
func (a *awsCredentials) profile(path string) (key awsKey, err error) {
	name := cmp.Or(a.getenv("AWS_PROFILE"), "default")
	f, err := os.Open(path)
	if err != nil {
		return key, fmt.Errorf("%w: the credentials of AWS in %s cannot be read", atrest.ErrKey, path)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for in := false; lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			in = line == "["+name+"]"
			continue
		}
		field, value, ok := strings.Cut(line, "=")
		if !in || !ok || strings.HasPrefix(line, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(field) {
		case "aws_access_key_id":
			key.id = value
		case "aws_secret_access_key":
			key.secret = value
		case "aws_session_token":
			key.session = value
		}
	}
	if key.id == "" || key.secret == "" {
		return key, fmt.Errorf("%w: %s has no credentials of the profile %s", atrest.ErrKey, path, name)
	}
	return key, nil
}

// direct is a caller for addresses of this machine and its network.
func (a *awsCredentials) direct(what string) *caller {
	c := newCaller(what, "", min(a.timeout, 5*time.Second))
	c.http.Transport.(*http.Transport).Proxy = nil
	return c
}

// roleKey is what containers and machines answer.
type roleKey struct {
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	Token           string
	Expiration      time.Time
}

func (k roleKey) key() awsKey { return awsKey{k.AccessKeyID, k.SecretAccessKey, k.Token, k.Expiration} }

// container asks what ECS or EKS gives to a container.
func (a *awsCredentials) container(ctx context.Context) (awsKey, error) {
	address := a.getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if rest := a.getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); rest != "" {
		address = containerHost + rest
	}
	if u, err := url.Parse(address); err != nil || u.Scheme == "http" && !containerAddress(u.Hostname()) {
		return awsKey{}, fmt.Errorf("%w: AWS_CONTAINER_CREDENTIALS_FULL_URI is neither of this machine nor an address with TLS", atrest.ErrKey)
	}
	token := a.getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := a.getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		var err error
		if token, err = readCredential(file); err != nil {
			return awsKey{}, fmt.Errorf("%w: AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE holds nothing that can be read", atrest.ErrKey)
		}
	}
	call := a.direct("the service for credentials of containers")
	got, err := call.do(ctx, http.MethodGet, address, nil, func(r *http.Request) error {
		if token != "" {
			r.Header.Set("Authorization", token)
		}
		return nil
	})
	return roleOf(call, got, err)
}

// containerAddress reports whether a host is one that credentials may come from without TLS.
func containerAddress(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && (ip.IsLoopback() || host == "169.254.170.2" || host == "169.254.170.23" || host == "fd00:ec2::23")
}

func roleOf(call *caller, got answer, err error) (awsKey, error) {
	var k roleKey
	switch {
	case err != nil:
		return awsKey{}, err
	case got.status != http.StatusOK || json.Unmarshal(got.body, &k) != nil:
		return awsKey{}, fmt.Errorf("%w: %s answers with the status %d and no credentials", atrest.ErrKey, call.what, got.status)
	}
	return k.key(), nil
}

// machine asks the metadata service of EC2, version 2, for the role of the instance.
func (a *awsCredentials) machine(ctx context.Context) (awsKey, error) {
	base := cmp.Or(a.getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), machineHost)
	base = strings.TrimSuffix(base, "/") + "/latest/"
	call := a.direct("the metadata service of the machine (there are no other credentials of AWS)")
	got, err := call.do(ctx, http.MethodPut, base+"api/token", nil, func(r *http.Request) error {
		r.Header.Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
		return nil
	})
	if err != nil {
		return awsKey{}, err
	}
	if got.status != http.StatusOK {
		return awsKey{}, fmt.Errorf("%w: %s answers with the status %d", atrest.ErrKey, call.what, got.status)
	}
	with := func(r *http.Request) error {
		r.Header.Set("X-Aws-Ec2-Metadata-Token", strings.TrimSpace(string(got.body)))
		return nil
	}
	const path = "meta-data/iam/security-credentials/"
	role, err := call.do(ctx, http.MethodGet, base+path, nil, with)
	if err != nil {
		return awsKey{}, err
	}
	name, _, _ := strings.Cut(strings.TrimSpace(string(role.body)), "\n")
	if role.status != http.StatusOK || name == "" {
		return awsKey{}, fmt.Errorf("%w: the machine has no role", atrest.ErrKey)
	}
	keys, err := call.do(ctx, http.MethodGet, base+path+url.PathEscape(name), nil, with)
	return roleOf(call, keys, err)
}

// webIdentity has STS give the credentials of a role for a token, as pods of EKS have it.
func (a *awsCredentials) webIdentity(ctx context.Context, file string) (awsKey, error) {
	token, err := readCredential(file)
	if err != nil {
		return awsKey{}, fmt.Errorf("%w: AWS_WEB_IDENTITY_TOKEN_FILE holds nothing that can be read", atrest.ErrKey)
	}
	session := cmp.Or(a.getenv("AWS_ROLE_SESSION_NAME"), "wardroom")
	endpoint := a.getenv("AWS_ENDPOINT_URL_STS")
	if endpoint == "" {
		endpoint = "https://sts." + a.region + ".amazonaws.com"
	}
	form := url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {a.getenv("AWS_ROLE_ARN")},
		"RoleSessionName": {session}, "WebIdentityToken": {token},
	}
	call := newCaller("AWS STS at "+endpoint, a.getenv("AWS_CA_BUNDLE"), a.timeout)
	got, err := call.do(ctx, http.MethodPost, strings.TrimSuffix(endpoint, "/")+"/", []byte(form.Encode()), func(r *http.Request) error {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return nil
	})
	if err != nil {
		return awsKey{}, err
	}
	var out struct {
		Credentials struct {
			AccessKeyID     string `xml:"AccessKeyId"`
			SecretAccessKey string
			SessionToken    string
			Expiration      time.Time
		} `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	if got.status != http.StatusOK || xml.Unmarshal(got.body, &out) != nil {
		return awsKey{}, fmt.Errorf("%w: %s refuses the role of AWS_ROLE_ARN (status %d): check its trust policy, and the token", atrest.ErrKey, call.what, got.status)
	}
	c := out.Credentials
	return awsKey{c.AccessKeyID, c.SecretAccessKey, c.SessionToken, c.Expiration}, nil
}
