package keyservice

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core/store/atrest"
)

// KMS is a symmetric key of the Key Management Service of AWS.
type KMS struct {
	Region   string
	Key      string        // id, ARN or alias/NAME
	Endpoint string        // empty: that of the region
	Timeout  time.Duration // of one request; 0: 10 s
	Getenv   func(string) string
}

// Requests are tried so often if the service asks to wait or fails by itself.
const (
	kmsTries = 3
	kmsPause = 200 * time.Millisecond
)

// kms implements atrest.KeySource.
type kms struct {
	KMS
	call        *caller
	credentials *awsCredentials
}

// NewKMS returns the source. It makes no request.
func NewKMS(k KMS) atrest.KeySource {
	if k.Endpoint == "" {
		domain := "amazonaws.com"
		if strings.HasPrefix(k.Region, "cn-") {
			domain = "amazonaws.com.cn"
		}
		k.Endpoint = "https://kms." + k.Region + "." + domain
	}
	k.Endpoint = strings.TrimSuffix(k.Endpoint, "/")
	call := newCaller("AWS KMS at "+k.Endpoint, k.Getenv("AWS_CA_BUNDLE"), k.Timeout)
	return &kms{KMS: k, call: call, credentials: &awsCredentials{region: k.Region, getenv: k.Getenv, timeout: call.timeout}}
}

// String implements atrest.KeySource.
func (k *kms) String() string { return "key " + k.Key + " of AWS KMS in " + k.Region }

// kmsKey is the ARN of a key, which the service names it by.
var kmsKey = regexp.MustCompile(`^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{1,64}$`)

// kmsContext returns the encryption context, which the service authenticates and writes into its trail.
func kmsContext(about string) map[string]string { return map[string]string{"wardroom": about} }

// Wrap implements atrest.KeySource.
func (k *kms) Wrap(ctx context.Context, key []byte, about string) (atrest.Wrapped, error) {
	var out struct {
		CiphertextBlob []byte
		KeyID          string `json:"KeyId"`
	}
	in := map[string]any{"KeyId": k.Key, "Plaintext": key, "EncryptionContext": kmsContext(about)}
	if err := k.ask(ctx, "Encrypt", k.Key, in, &out); err != nil {
		return atrest.Wrapped{}, err
	}
	if len(out.CiphertextBlob) == 0 || !kmsKey.MatchString(out.KeyID) {
		return atrest.Wrapped{}, fmt.Errorf("%w: %s answers with something else than a ciphertext", atrest.ErrKey, k.call.what)
	}
	return atrest.Wrapped{KeyID: out.KeyID, Data: out.CiphertextBlob}, nil
}

// Unwrap implements atrest.KeySource, by the key that wrapped: the configuration may name the next one already.
func (k *kms) Unwrap(ctx context.Context, w atrest.Wrapped, about string) ([]byte, error) {
	if !kmsKey.MatchString(w.KeyID) {
		return nil, fmt.Errorf("%w: it was encrypted by %q, which is no key of AWS KMS: give the provider that it was encrypted with", atrest.ErrKey, clip(w.KeyID))
	}
	var out struct{ Plaintext []byte }
	in := map[string]any{"KeyId": w.KeyID, "CiphertextBlob": w.Data, "EncryptionContext": kmsContext(about)}
	if err := k.ask(ctx, "Decrypt", w.KeyID, in, &out); err != nil {
		return nil, err
	}
	return out.Plaintext, nil
}

// ask makes one call, and repeats it where that may help.
func (k *kms) ask(ctx context.Context, operation, key string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		got, err := k.call.do(ctx, http.MethodPost, k.Endpoint+"/", body, func(r *http.Request) error {
			r.Header.Set("Content-Type", "application/x-amz-json-1.1")
			r.Header.Set("X-Amz-Target", "TrentService."+operation)
			c, err := k.credentials.get(ctx)
			if err != nil {
				return err
			}
			c.sign(r, body, k.Region, "kms", time.Now())
			return nil
		})
		if err != nil {
			return err
		}
		if got.status == http.StatusOK {
			if json.Unmarshal(got.body, out) != nil {
				return fmt.Errorf("%w: %s answers with something else than the service does: check the endpoint", atrest.ErrKey, k.call.what)
			}
			return nil
		}
		name := errorName(got.body)
		switch name {
		case "ExpiredTokenException", "UnrecognizedClientException", "InvalidClientTokenId":
			k.credentials.forget()
		}
		again := got.status >= 500 || name == "ThrottlingException" || name == "ExpiredTokenException"
		if !again || try == kmsTries {
			return k.refused(got.status, name, operation, key)
		}
		select {
		case <-time.After(kmsPause << (try - 1)):
		case <-ctx.Done():
			return k.call.unreached(ctx, ctx.Err())
		}
	}
}

// errorName returns the code of an error, which may come with the name of a namespace and an address.
func errorName(body []byte) string {
	var said struct {
		Type string `json:"__type"`
	}
	_ = json.Unmarshal(body, &said)
	name := said.Type[strings.LastIndexByte(said.Type, '#')+1:]
	name, _, _ = strings.Cut(name, ":")
	return clip(name)
}

// refused words an answer that is none of success. Of what the service wrote only the name of the error is repeated.
func (k *kms) refused(status int, name, operation, key string) error {
	why := fmt.Sprintf("does not %s by the key %s (%s, status %d)", strings.ToLower(operation), key, name, status)
	switch name {
	case "AccessDeniedException":
		why = fmt.Sprintf("refuses to %s by the key %s: the role of the service needs kms:%s on it, in its policy and in that of the key", strings.ToLower(operation), key, operation)
	case "NotFoundException":
		why = fmt.Sprintf("has no key %s in %s", key, k.Region)
	case "DisabledException":
		why = fmt.Sprintf("has the key %s disabled: enable it", key)
	case "KMSInvalidStateException":
		why = fmt.Sprintf("cannot use the key %s in its present state: is it to be deleted? Cancel that", key)
	case "InvalidKeyUsageException":
		why = fmt.Sprintf("has a key %s that is not for encryption: it must be symmetric, with the usage ENCRYPT_DECRYPT", key)
	case "IncorrectKeyException", "InvalidCiphertextException":
		why = fmt.Sprintf("cannot open this by the key %s: it was encrypted by another one, or changed", key)
	case "UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException", "IncompleteSignatureException", "SignatureDoesNotMatch", "MissingAuthenticationTokenException":
		why = fmt.Sprintf("does not know the credentials, or the clock of this machine is wrong (%s)", name)
	case "ExpiredTokenException":
		why = "says that the credentials have expired"
	case "ThrottlingException":
		why = "has too many requests"
	}
	return fmt.Errorf("%w: %s %s", atrest.ErrKey, k.call.what, why)
}
