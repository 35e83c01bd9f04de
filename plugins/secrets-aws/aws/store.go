package aws

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/wardroom/wardroom/sdk/secret"
	"github.com/wardroom/wardroom/sdk/secret/source"
)

// maxBackoff bounds a pause between the three tries of the SDK: somebody waits for them.
const maxBackoff = 2 * time.Second

// store reads the service.
type store struct {
	config      Config
	client      *secretsmanager.Client
	credentials aws.CredentialsProvider
	provider    *source.Provider

	mu   sync.Mutex    // guards all below
	last *secret.Error // of the last answer; nil: it was good, or there was none
}

var _ source.Source = (*store)(nil)

// open takes credentials from where the AWS SDK looks for them.
func open(ctx context.Context, c Config) (*store, error) {
	// The client is the SDK's, so that it takes AWS_CA_BUNDLE.
	client := awshttp.NewBuildableClient().WithTimeout(c.timeout).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 8
		t.IdleConnTimeout = time.Minute
	})
	loaded, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(c.Region), awsconfig.WithHTTPClient(client))
	if err != nil { // its text quotes files
		return nil, &secret.Error{
			Code: secret.CodeNotConfigured, Message: "the configuration of the AWS SDK cannot be read",
			Hint: "check the AWS_ variables of the plugin, and the files config and credentials that they name",
		}
	}
	s := &store{config: c, credentials: loaded.Credentials}
	s.client = secretsmanager.NewFromConfig(loaded, func(o *secretsmanager.Options) {
		o.HTTPClient = bounded{o.HTTPClient}
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = maxBackoff })
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
	})
	s.provider = source.New(source.Options{Source: s, Interval: c.poll})
	return s, nil
}

func (s *store) close(context.Context) error {
	s.provider.Close()
	return nil // connections end after their idle time
}

// What the service takes for names, and versions and stages of them.
var (
	namePattern    = regexp.MustCompile(`^[A-Za-z0-9/_+=.@-]{1,512}$`)
	arnPattern     = regexp.MustCompile(`^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]{1,512}$`)
	versionPattern = regexp.MustCompile(`^version=[A-Za-z0-9-]{32,64}$`)
	stagePattern   = regexp.MustCompile(`^stage=[A-Za-z0-9/_+=.@-]{1,256}$`)
)

// Locate implements source.Source: a path is the name of a secret, or its ARN, and may ask for a version or a stage.
func (s *store) Locate(path string) (string, error) {
	name, query, has := strings.Cut(path, "?")
	if has && !versionPattern.MatchString(query) && !stagePattern.MatchString(query) {
		return "", secret.Errorf(secret.CodeInvalidRef, "what follows ? in the name of a secret must be stage=NAME, such as stage=AWSPREVIOUS, or version=ID")
	}
	switch {
	case arnPattern.MatchString(name):
	case !namePattern.MatchString(name):
		return "", &secret.Error{
			Code: secret.CodeInvalidRef, Message: "the name of a secret has 1 to 512 letters, digits and /_+=.@- of ASCII, or is an ARN of Secrets Manager",
			Hint: "write it as wardroom/db#password",
		}
	case !strings.HasPrefix(name, s.config.SecretPrefix):
		name = s.config.SecretPrefix + name
	}
	if has {
		name += "?" + query
	}
	return name, nil
}

// Read implements source.Source.
func (s *store) Read(ctx context.Context, place string) (source.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	if _, err := s.credentials.Retrieve(ctx); err != nil { // from its cache, as a rule
		e := noCredentials()
		if ctx.Err() != nil {
			e = s.config.fault(ctx, err, place)
		}
		s.note(e)
		return source.Entry{}, e
	}
	name, query, _ := strings.Cut(place, "?")
	in := &secretsmanager.GetSecretValueInput{SecretId: aws.String(name)}
	values, _ := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B")) // Locate has checked it
	if stage := values.Get("stage"); stage != "" {
		in.VersionStage = aws.String(stage)
	}
	if version := values.Get("version"); version != "" {
		in.VersionId = aws.String(version)
	}
	out, err := s.client.GetSecretValue(ctx, in)
	if err != nil {
		e := s.config.fault(ctx, err, place)
		s.note(e)
		return source.Entry{}, e
	}
	s.note(nil)
	entry := source.Entry{Version: aws.ToString(out.VersionId)}
	if out.SecretString == nil {
		entry.Whole = append([]byte{}, out.SecretBinary...)
		return entry, nil
	}
	entry.Whole = []byte(*out.SecretString)
	entry.Fields = fields(entry.Whole)
	return entry, nil
}

// note keeps what Health tells of the service. What is about one secret is no matter of the service.
func (s *store) note(e *secret.Error) {
	if e != nil && (e.Code == secret.CodeNotFound || e.Code == secret.CodeInvalidRef || e.Code == secret.CodeCanceled) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = e
}

// fields returns those of a JSON object: texts as they are, anything else as JSON. Nil for other texts.
func fields(text []byte) map[string][]byte {
	var raw map[string]json.RawMessage
	if json.Unmarshal(text, &raw) != nil || raw == nil {
		return nil
	}
	out := make(map[string][]byte, len(raw))
	for name, value := range raw {
		var s string
		if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &s) == nil {
			out[name] = []byte(s)
			continue
		}
		out[name] = bytes.Clone(value)
	}
	return out
}
