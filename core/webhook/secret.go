package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"time"

	"github.com/wardroom/wardroom/core"
)

// secret is one that signs.
type secret struct {
	Text  string     `json:"secret"`
	Until *time.Time `json:"until,omitempty"` // of a former one
}

// newSecret makes a secret of 32 random bytes.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return "whsec_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// What is sealed belongs to one endpoint and is of one kind, both of which are authenticated with it.

// sealSecrets encrypts the secrets of an endpoint.
func (s *Service) sealSecrets(id string, secrets []secret) ([]byte, error) {
	return s.seal.Seal(id, secrets)
}

// openSecrets decrypts them, the newest first.
func (s *Service) openSecrets(id string, sealed []byte) ([]secret, error) {
	var list []secret
	if !s.seal.Open(id, sealed, &list) || len(list) == 0 {
		return nil, core.Conflict("webhook", id, "", "the secret of the endpoint cannot be read any more: the key that sealed it "+
			"was replaced; give the endpoint a new secret")
	}
	return list, nil
}

// sealKey encrypts the key of a client certificate; nil for none.
func (s *Service) sealKey(id, key string) []byte {
	if key == "" {
		return nil
	}
	return s.seal.SealBytes(id+"/key", []byte(key))
}

// openKey decrypts it.
func (s *Service) openKey(id string, sealed []byte) (string, error) {
	if len(sealed) == 0 {
		return "", nil
	}
	plain, ok := s.seal.OpenBytes(id+"/key", sealed)
	if !ok {
		return "", core.Conflict("webhook", id, "", "the key of the client certificate cannot be read any more: the key that "+
			"sealed it was replaced; give the endpoint its certificate and key anew")
	}
	return string(plain), nil
}

// sealHeaders encrypts the headers of an endpoint; nil for none.
func (s *Service) sealHeaders(id string, headers map[string]string) ([]byte, error) {
	if len(headers) == 0 {
		return nil, nil
	}
	return s.seal.Seal(id+"/headers", headers)
}

// openHeaders decrypts them.
func (s *Service) openHeaders(id string, sealed []byte) (headers map[string]string, err error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	if !s.seal.Open(id+"/headers", sealed, &headers) {
		return nil, core.Conflict("webhook", id, "", "the headers of the endpoint cannot be read any more: the key that sealed "+
			"them was replaced; give the endpoint its headers anew")
	}
	return headers, nil
}

// signing returns the texts of the secrets that sign at a time, the newest first.
func signing(secrets []secret, now time.Time) []string {
	texts := make([]string, 0, len(secrets))
	for i, k := range secrets {
		if i == 0 || k.Until != nil && now.Before(*k.Until) {
			texts = append(texts, k.Text)
		}
	}
	return texts
}

// rotate puts a secret before those that sign. The one before it signs until a time, unless that is over: then all former
// secrets end at once, since whoever wants no overlap wants to be rid of them.
func rotate(secrets []secret, text string, now, until time.Time) []secret {
	list := []secret{{Text: text}}
	if !now.Before(until) {
		return list
	}
	for i, k := range secrets {
		if k.Text == text {
			continue
		}
		if i == 0 {
			k.Until = &until
		}
		if k.Until != nil && now.Before(*k.Until) && len(list) < maxSecrets {
			list = append(list, k)
		}
	}
	return list
}

// lastUntil is when the last former secret ends; nil when there is none.
func lastUntil(secrets []secret) *time.Time {
	var last *time.Time
	for _, k := range secrets {
		if k.Until != nil && (last == nil || k.Until.After(*last)) {
			last = k.Until
		}
	}
	return last
}
