package keyservice_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/atrest/keyservice"
)

// Credentials that the service knows.
const (
	accessKey = "AKIDEXAMPLE"
	secretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	session   = "session-token-of-a-role"
	region    = "eu-central-1"
)

func keyARN(id string) string { return "arn:aws:kms:eu-central-1:123456789012:key/" + id }

// service is the part of KMS that a KeySource uses, written from its public documentation. It refuses what the real one refuses:
// signatures, members that it does not know, ciphertexts of other keys and contexts.
type service struct {
	*httptest.Server

	mu      sync.Mutex // guards all below
	aliases map[string]string
	states  map[string]string // of keys, by ARN: "" for one that is enabled, or the name of the error
	errs    []string          // names of errors of the next answers
	session string            // that requests must have
	status  int               // of every answer; 0: as it is
	hang    chan struct{}
	sealed  map[string][]string // ciphertexts: ARN, context, plaintext
	calls   int
}

func newService(t testing.TB) *service {
	s := &service{
		aliases: map[string]string{"alias/wardroom": keyARN("1111"), "alias/next": keyARN("2222")},
		states:  map[string]string{keyARN("1111"): "", keyARN("2222"): ""}, sealed: map[string][]string{},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *service) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	hang := s.hang
	s.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	refuse := func(status int, name string) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"__type": "com.amazonaws.kms#%s", "message": "a text with hunter2-of-the-key"}`, name)
	}
	switch {
	case s.status != 0:
		w.WriteHeader(s.status)
		return
	case len(s.errs) > 0:
		name := s.errs[0]
		s.errs = s.errs[1:]
		refuse(http.StatusBadRequest, name)
		return
	}
	if problem := checkSignature(r, body, s.session); problem != "" {
		refuse(http.StatusBadRequest, problem)
		return
	}
	operation, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "TrentService.")
	if !ok || r.Method != http.MethodPost || r.URL.Path != "/" || r.Header.Get("Content-Type") != "application/x-amz-json-1.1" {
		refuse(http.StatusBadRequest, "UnknownOperationException")
		return
	}
	var in struct {
		KeyID             string `json:"KeyId"`
		Plaintext         []byte
		CiphertextBlob    []byte
		EncryptionContext map[string]string
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&in) != nil || in.KeyID == "" || len(in.Plaintext) > 4096 || len(in.CiphertextBlob) > 6144 {
		refuse(http.StatusBadRequest, "ValidationException")
		return
	}
	key := in.KeyID
	if strings.HasPrefix(key, "alias/") {
		key = s.aliases[key]
	} else if !strings.HasPrefix(key, "arn:") {
		key = keyARN(key)
	}
	state, known := s.states[key]
	switch {
	case !known:
		refuse(http.StatusBadRequest, "NotFoundException")
		return
	case state != "":
		refuse(http.StatusBadRequest, state)
		return
	}
	about, _ := json.Marshal(in.EncryptionContext)
	out := map[string]any{"KeyId": key, "EncryptionAlgorithm": "SYMMETRIC_DEFAULT"}
	switch operation {
	case "Encrypt":
		blob := make([]byte, 48)
		_, _ = rand.Read(blob)
		s.sealed[string(blob)] = []string{key, string(about), string(in.Plaintext)}
		out["CiphertextBlob"] = blob
	case "Decrypt":
		was := s.sealed[string(in.CiphertextBlob)]
		switch {
		case was == nil || was[1] != string(about):
			refuse(http.StatusBadRequest, "InvalidCiphertextException")
			return
		case was[0] != key:
			refuse(http.StatusBadRequest, "IncorrectKeyException")
			return
		}
		out["Plaintext"] = []byte(was[2])
	default:
		refuse(http.StatusBadRequest, "UnknownOperationException")
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_ = json.NewEncoder(w).Encode(out)
}

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$`)

// checkSignature makes the signature of a request as the documentation of Signature Version 4 has it, and returns the error of
// one that has another.
func checkSignature(r *http.Request, body []byte, session string) string {
	m := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil {
		return "MissingAuthenticationTokenException"
	}
	if m[1] != accessKey || r.Header.Get("X-Amz-Security-Token") != session {
		return "UnrecognizedClientException"
	}
	names := strings.Split(m[5], ";")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if m[3] != region || m[4] != "kms" || !slices.IsSorted(names) || !slices.Contains(names, "host") || !slices.Contains(names, "x-amz-date") ||
		!slices.Contains(names, "x-amz-target") || session != "" && !slices.Contains(names, "x-amz-security-token") ||
		err != nil || time.Since(at).Abs() > 5*time.Minute || m[2] != at.Format("20060102") {
		return "InvalidSignatureException"
	}
	sum := func(b []byte) string {
		h := sha256.Sum256(b)
		return hex.EncodeToString(h[:])
	}
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		_, _ = h.Write([]byte(text))
		return h.Sum(nil)
	}
	canonical := r.Method + "\n/\n\n"
	for _, name := range names {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + strings.TrimSpace(value) + "\n"
	}
	canonical += "\n" + m[5] + "\n" + sum(body)
	text := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + m[2] + "/" + m[3] + "/" + m[4] + "/aws4_request\n" + sum([]byte(canonical))
	key := []byte("AWS4" + secretKey)
	for _, part := range []string{m[2], m[3], m[4], "aws4_request"} {
		key = mac(key, part)
	}
	if hex.EncodeToString(mac(key, text)) != m[6] {
		return "InvalidSignatureException"
	}
	return ""
}

func getenv(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

// own are credentials in the environment.
var own = map[string]string{"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_EC2_METADATA_DISABLED": "true"}

func (s *service) key(name string) atrest.KeySource {
	return keyservice.NewKMS(keyservice.KMS{Region: region, Key: name, Endpoint: s.URL, Timeout: 5 * time.Second, Getenv: getenv(own)})
}

// roundTrip wraps a key and unwraps it.
func roundTrip(t *testing.T, source atrest.KeySource) (atrest.Wrapped, error) {
	t.Helper()
	key := bytes.Repeat([]byte{9}, 32)
	w, err := source.Wrap(t.Context(), key, "one thing")
	if err != nil {
		return w, err
	}
	if bytes.Contains(w.Data, key) {
		t.Error("what is wrapped holds the key")
	}
	got, err := source.Unwrap(t.Context(), w, "one thing")
	if err == nil && !bytes.Equal(got, key) {
		t.Error("it unwraps to another key")
	}
	if _, err := source.Unwrap(t.Context(), w, "another thing"); !errors.Is(err, atrest.ErrKey) {
		t.Errorf("for another purpose: %v", err)
	}
	return w, err
}

func TestKMS(t *testing.T) {
	s := newService(t)
	w, err := roundTrip(t, s.key("alias/wardroom"))
	if err != nil || w.KeyID != keyARN("1111") {
		t.Fatalf("%+v, %v", w, err)
	}
	if got, err := s.key("alias/next").Unwrap(t.Context(), w, "one thing"); err != nil || len(got) != 32 {
		t.Errorf("the configuration names the next key: %v", err)
	}
	foreign := atrest.Wrapped{KeyID: "0123456789abcdef", Data: w.Data}
	if _, err := s.key("alias/wardroom").Unwrap(t.Context(), foreign, "one thing"); !errors.Is(err, atrest.ErrKey) || !strings.Contains(err.Error(), "no key of AWS KMS") {
		t.Errorf("a key of a file: %v", err)
	}
	swapped := atrest.Wrapped{KeyID: keyARN("2222"), Data: w.Data}
	if _, err := s.key("alias/wardroom").Unwrap(t.Context(), swapped, "one thing"); !errors.Is(err, atrest.ErrKey) || !strings.Contains(err.Error(), "another one") {
		t.Errorf("the id of another key: %v", err)
	}
}

// What goes wrong is told by what it means, without anything that the service wrote, and without the key.
func TestKMSFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(s *service)
		key    string
		want   string
	}{
		"Denied":    {func(s *service) { s.states[keyARN("1111")] = "AccessDeniedException" }, "", "needs kms:Encrypt on it"},
		"Missing":   {nil, "alias/none", "has no key alias/none"},
		"Disabled":  {func(s *service) { s.states[keyARN("1111")] = "DisabledException" }, "", "enable it"},
		"Deleting":  {func(s *service) { s.states[keyARN("1111")] = "KMSInvalidStateException" }, "", "Cancel that"},
		"Usage":     {func(s *service) { s.states[keyARN("1111")] = "InvalidKeyUsageException" }, "", "must be symmetric"},
		"Unknown":   {func(s *service) { s.session = "x" }, "", "does not know the credentials"},
		"Throttled": {func(s *service) { s.errs = slices.Repeat([]string{"ThrottlingException"}, 9) }, "", "too many requests"},
		"Broken":    {func(s *service) { s.status = 500 }, "", "status 500"},
		"Page":      {func(s *service) { s.status = 204 }, "", "status 204"},
		"Hung":      {func(s *service) { s.hang = make(chan struct{}) }, "", "did not answer within 500ms"},
		"Down":      {func(s *service) { go s.CloseClientConnections(); s.Listener.Close() }, "", "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			if tt.change != nil {
				s.set(func() { tt.change(s) })
			}
			key := "alias/wardroom"
			if tt.key != "" {
				key = tt.key
			}
			limit := 5 * time.Second
			if name == "Hung" {
				limit = 500 * time.Millisecond
			}
			source := keyservice.NewKMS(keyservice.KMS{Region: region, Key: key, Endpoint: s.URL, Timeout: limit, Getenv: getenv(own)})
			_, err := source.Wrap(t.Context(), bytes.Repeat([]byte("K3y!"), 8), "one thing")
			if !errors.Is(err, atrest.ErrKey) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			for _, secret := range []string{"hunter2", "K3y!", secretKey} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error tells %s: %v", secret, err)
				}
			}
			if s.hang != nil {
				close(s.hang)
			}
		})
	}
	s := newService(t)
	s.errs = []string{"ThrottlingException", "InternalException"}
	s.errs = s.errs[:1]
	if _, err := roundTrip(t, s.key("1111")); err != nil {
		t.Errorf("after one refusal: %v", err)
	}
}

// Credentials come from where programs on AWS have them.
func TestCredentials(t *testing.T) {
	role := fmt.Sprintf(`{"AccessKeyId": %q, "SecretAccessKey": %q, "Token": %q, "Expiration": %q}`, accessKey, secretKey, session,
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	asked := 0
	gives := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch {
		case r.URL.Path == "/container" && r.Header.Get("Authorization") == "pod-token":
			_, _ = io.WriteString(w, role)
		case r.URL.Path == "/latest/api/token" && r.Method == http.MethodPut && r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") != "":
			_, _ = io.WriteString(w, "imds-token")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") == "imds-token" && r.URL.Path == "/latest/meta-data/iam/security-credentials/":
			_, _ = io.WriteString(w, "wardroom-role")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") == "imds-token" && r.URL.Path == "/latest/meta-data/iam/security-credentials/wardroom-role":
			_, _ = io.WriteString(w, role)
		case r.URL.Path == "/" && r.FormValue("Action") == "AssumeRoleWithWebIdentity" && r.FormValue("Version") == "2011-06-15" &&
			r.FormValue("WebIdentityToken") == "jwt-of-the-pod" && r.FormValue("RoleArn") == "arn:aws:iam::123456789012:role/w" && r.FormValue("RoleSessionName") != "":
			_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>`+
				`<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>`+
				`</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
				accessKey, secretKey, session, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer gives.Close()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	shared := file("credentials", "[other]\naws_access_key_id = no\n\n[wardroom]\n# a comment\naws_access_key_id = "+accessKey+"\naws_secret_access_key="+secretKey+"\naws_session_token = "+session+"\n")
	for name, tt := range map[string]struct {
		env  map[string]string
		want string // of the error; empty: they are good
	}{
		"Environment": {map[string]string{"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_SESSION_TOKEN": session}, ""},
		"Half":        {map[string]string{"AWS_ACCESS_KEY_ID": accessKey}, "the environment gave something else than credentials"},
		"Shared":      {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": shared, "AWS_PROFILE": "wardroom"}, ""},
		"NoProfile":   {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": shared}, "no credentials of the profile default"},
		"WebIdentity": {map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": file("jwt", "jwt-of-the-pod\n"), "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/w",
			"AWS_ENDPOINT_URL_STS": gives.URL}, ""},
		"WrongRole": {map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": file("jwt", "jwt-of-the-pod\n"), "AWS_ROLE_ARN": "x", "AWS_ENDPOINT_URL_STS": gives.URL}, "check its trust policy"},
		"Container": {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": gives.URL + "/container",
			"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file("pod", "pod-token")}, ""},
		"Elsewhere": {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://192.0.2.1/x"}, "neither of this machine"},
		"Machine":   {map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": gives.URL}, ""},
		"None":      {map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}, "there are no credentials of AWS"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			s.session = session
			source := keyservice.NewKMS(keyservice.KMS{Region: region, Key: "1111", Endpoint: s.URL, Timeout: 5 * time.Second, Getenv: getenv(tt.env)})
			before := asked
			_, err := roundTrip(t, source)
			if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, atrest.ErrKey) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if asked-before > 3 {
				t.Errorf("%d requests for credentials: they are not kept", asked-before)
			}
			if err != nil && strings.Contains(err.Error(), secretKey) {
				t.Error("the error shows a key")
			}
		})
	}
}

// A ring is rotated from one key to the next, and does not open without the right to use it; nothing is changed then.
func TestRingOfKMS(t *testing.T) {
	s, ctx, now := newService(t), t.Context(), time.Now()
	var saved []byte
	save := func(data []byte) error { saved = bytes.Clone(data); return nil }
	ring, err := atrest.NewRing(ctx, s.key("alias/wardroom"), true, now, save)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.Clone(saved)
	s.set(func() { s.states[keyARN("1111")] = "AccessDeniedException" })
	if err := ring.Rotate(ctx, now); !errors.Is(err, atrest.ErrKey) || !bytes.Equal(saved, first) {
		t.Errorf("rotation without the right: %v", err)
	}
	if _, err := atrest.OpenRing(ctx, s.key("alias/next"), saved, save); !errors.Is(err, atrest.ErrKey) || !bytes.Equal(saved, first) {
		t.Errorf("opened without the right: %v", err)
	}
	s.set(func() { s.states[keyARN("1111")] = "" })
	if ring, err = atrest.OpenRing(ctx, s.key("alias/next"), saved, save); err != nil {
		t.Fatal(err)
	}
	if err := ring.Rotate(ctx, now); err != nil || ring.Status().MasterKey != keyARN("2222") {
		t.Fatalf("%+v, %v", ring.Status(), err)
	}
	s.set(func() { delete(s.states, keyARN("1111")) }) // it is not needed any more
	if _, err := atrest.OpenRing(ctx, s.key("alias/next"), saved, save); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	e, err := ring.FileEnvelope(context.WithoutCancel(ctx))
	if err != nil || len(e.Key) != 32 {
		t.Errorf("the key of a dump: %v", err)
	}
}
