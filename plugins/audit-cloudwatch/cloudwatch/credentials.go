package cloudwatch

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/audit/remote"
)

// The places where AWS tools look for credentials, in their order: the environment, the shared file, the endpoint of
// containers, and that of the machine. What only some tools know (single sign-on, processes, roles to assume) is not
// looked at.

const (
	containerHost = "http://169.254.170.2"
	machineHost   = "http://169.254.169.254"
	early         = 5 * time.Minute // before they end, credentials are asked for again
)

var errCredentials = &audit.Error{
	Code: audit.CodeForbidden, Message: "there are no credentials of AWS", Retry: true,
	Hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in plugins.audit-cloudwatch.env, or give the machine or container a role",
}

// credentialsOf finds credentials; present are those that were found before.
func (s *sink) credentialsOf(ctx context.Context, present credentials) (credentials, error) {
	if present.id != "" && (present.expires.IsZero() || s.now().Add(early).Before(present.expires)) {
		return present, nil
	}
	if c := (credentials{id: s.getenv("AWS_ACCESS_KEY_ID"), secret: s.getenv("AWS_SECRET_ACCESS_KEY"), session: s.getenv("AWS_SESSION_TOKEN")}); c.id != "" && c.secret != "" {
		return c, nil
	}
	if c, ok := s.shared(); ok {
		return c, nil
	}
	header := http.Header{}
	address := s.getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if path := s.getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		address = containerHost + path
	}
	if address != "" {
		token := s.getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		if file := s.getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
			data, err := os.ReadFile(file)
			if err != nil {
				return credentials{}, errCredentials
			}
			token = strings.TrimSpace(string(data))
		}
		if token != "" {
			header.Set("Authorization", token)
		}
		return s.fetch(ctx, address, header)
	}
	if s.getenv("AWS_EC2_METADATA_DISABLED") == "true" {
		return credentials{}, errCredentials
	}
	return s.ofMachine(ctx)
}

// ofMachine asks the machine for the credentials of its role.
func (s *sink) ofMachine(ctx context.Context) (credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	a, err := s.local.Do(ctx, http.MethodPut, s.machine+"/latest/api/token", http.Header{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": {"300"}}, nil)
	if err != nil || a.Status != http.StatusOK {
		return credentials{}, errCredentials
	}
	header := http.Header{"X-Aws-Ec2-Metadata-Token": {string(a.Body)}}
	const roles = "/latest/meta-data/iam/security-credentials/"
	if a, err = s.local.Do(ctx, http.MethodGet, s.machine+roles, header, nil); err != nil || a.Status != http.StatusOK {
		return credentials{}, errCredentials
	}
	role, _, _ := strings.Cut(strings.TrimSpace(string(a.Body)), "\n")
	return s.fetch(ctx, s.machine+roles+role, header)
}

// fetch reads credentials from an endpoint.
func (s *sink) fetch(ctx context.Context, address string, header http.Header) (credentials, error) {
	a, err := s.local.Do(ctx, http.MethodGet, address, header, nil)
	if err != nil {
		return credentials{}, err
	}
	var said struct {
		AccessKeyID     string    `json:"AccessKeyId"`
		SecretAccessKey string    `json:"SecretAccessKey"`
		Token           string    `json:"Token"`
		Expiration      time.Time `json:"Expiration"`
	}
	if a.Status != http.StatusOK || json.Unmarshal(a.Body, &said) != nil || said.AccessKeyID == "" {
		return credentials{}, remote.Refusal(max(a.Status, 400), "no credentials are given")
	}
	return credentials{said.AccessKeyID, said.SecretAccessKey, said.Token, said.Expiration}, nil
}

// shared reads the shared file of credentials.
func (s *sink) shared() (credentials, bool) {
	path := s.getenv("AWS_SHARED_CREDENTIALS_FILE")
	if path == "" {
		path = filepath.Join(s.getenv("HOME"), ".aws", "credentials")
	}
	profile := cmp.Or(s.getenv("AWS_PROFILE"), "default")
	f, err := os.Open(path)
	if err != nil {
		return credentials{}, false
	}
	defer func() { _ = f.Close() }() // only read from
	var c credentials
	inside := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			inside = strings.Trim(line, "[] ") == profile
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !inside || !ok {
			continue
		}
		switch value = strings.TrimSpace(value); strings.TrimSpace(name) {
		case "aws_access_key_id":
			c.id = value
		case "aws_secret_access_key":
			c.secret = value
		case "aws_session_token":
			c.session = value
		}
	}
	return c, c.id != "" && c.secret != ""
}
