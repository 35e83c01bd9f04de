package aws

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Credentials that the service knows.
const (
	keyID     = "AKIDEXAMPLE"
	secretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	region    = "eu-central-1"
)

// version is one of a secret.
type version struct {
	id     string
	stages []string
	text   string
	binary []byte
}

// service is the part of Secrets Manager that the provider uses, written from its public documentation. It refuses what the
// real one refuses: signatures above all.
type service struct {
	*httptest.Server

	mu      sync.Mutex // guards all below
	secrets map[string][]version
	errs    []string // names of errors of the next answers
	denied  string   // name of a secret
	status  int      // of every answer, without a name; 0: none
	hang    chan struct{}
	calls   int
}

func newService(t testing.TB) *service {
	s := &service{secrets: map[string][]version{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *service) put(name string, versions ...version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets[name] = versions
}

func (s *service) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
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
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	refuse := func(status int, name string) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"__type": %q, "Message": "a text with hunter2-of-the-database"}`, name)
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
		return
	}
	if len(s.errs) > 0 {
		name := s.errs[0]
		s.errs = s.errs[1:]
		refuse(http.StatusBadRequest, name)
		return
	}
	if problem := checkSignature(r, body); problem != "" {
		refuse(http.StatusBadRequest, problem)
		return
	}
	var in struct{ SecretID, VersionID, VersionStage string }
	if r.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue" || r.Header.Get("Content-Type") != "application/x-amz-json-1.1" ||
		r.Method != http.MethodPost || r.URL.Path != "/" {
		refuse(http.StatusBadRequest, "UnknownOperationException")
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&in) != nil || in.SecretID == "" {
		refuse(http.StatusBadRequest, "ValidationException")
		return
	}
	name := in.SecretID
	if strings.HasPrefix(name, "arn:") { // which ends with six characters that tell secrets of one name apart
		name = name[strings.LastIndexByte(name, ':')+1 : len(name)-7]
	}
	if in.VersionStage == "" && in.VersionID == "" {
		in.VersionStage = "AWSCURRENT"
	}
	versions, ok := s.secrets[name]
	switch {
	case name == s.denied:
		refuse(http.StatusBadRequest, "AccessDeniedException")
		return
	case ok && len(versions) == 0: // marked for deletion
		refuse(http.StatusBadRequest, "InvalidRequestException")
		return
	}
	i := slices.IndexFunc(versions, func(v version) bool {
		return (in.VersionID == "" || v.id == in.VersionID) && (in.VersionStage == "" || slices.Contains(v.stages, in.VersionStage))
	})
	if i < 0 {
		refuse(http.StatusBadRequest, "ResourceNotFoundException")
		return
	}
	out := map[string]any{"Name": name, "VersionId": versions[i].id, "VersionStages": versions[i].stages, "CreatedDate": 1.7e9}
	if versions[i].binary != nil {
		out["SecretBinary"] = base64.StdEncoding.EncodeToString(versions[i].binary)
	} else {
		out["SecretString"] = versions[i].text
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_ = json.NewEncoder(w).Encode(out)
}

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$`)

// checkSignature makes the signature of a request as the documentation of Signature Version 4 has it, and returns the error of
// one that has another.
func checkSignature(r *http.Request, body []byte) string {
	m := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil {
		return "MissingAuthenticationTokenException"
	}
	if m[1] != keyID {
		return "UnrecognizedClientException"
	}
	names := strings.Split(m[5], ";")
	if m[3] != region || m[4] != "secretsmanager" || !slices.Contains(names, "host") || !slices.Contains(names, "x-amz-date") || !slices.Contains(names, "x-amz-target") {
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
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		canonical += name + ":" + strings.TrimSpace(value) + "\n"
	}
	canonical += "\n" + m[5] + "\n" + sum(body)
	scope := m[2] + "/" + m[3] + "/" + m[4] + "/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + sum([]byte(canonical))
	key := []byte("AWS4" + secretKey)
	for _, part := range []string{m[2], m[3], m[4], "aws4_request"} {
		key = mac(key, part)
	}
	if hex.EncodeToString(mac(key, text)) != m[6] {
		return "InvalidSignatureException"
	}
	return ""
}
