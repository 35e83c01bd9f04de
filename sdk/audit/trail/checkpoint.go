package trail

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Actions of records that are about the trail itself.
const (
	ActionCheckpoint = "audit.checkpoint" // the chain up to here is signed
	ActionTrim       = "audit.trim"       // the oldest records were removed, as retention says
	ActionLost       = "audit.lost"       // records could not be kept
)

// checkpoint is the details of a checkpoint. It signs the record before it.
type checkpoint struct {
	Sequence  uint64 `json:"sequence"`
	Hash      string `json:"hash"`
	KeyID     string `json:"keyId"`
	PublicKey string `json:"publicKey"`
	Signature string `json:"signature"`
}

// KeyID names a public key: the first 16 hexadecimal digits of its SHA-256.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// SignCheckpoint returns the details of a checkpoint record that signs the record sequence.
func SignCheckpoint(key ed25519.PrivateKey, sequence uint64, hash Hash) []byte {
	public := key.Public().(ed25519.PublicKey)
	return AppendDetails(nil, map[string]any{
		"sequence": sequence, "hash": hash.String(), "keyId": KeyID(public),
		"publicKey": base64.StdEncoding.EncodeToString(public),
		"signature": base64.StdEncoding.EncodeToString(ed25519.Sign(key, signedText(sequence, hash.String()))),
	})
}

func signedText(sequence uint64, hash string) []byte {
	return []byte("wardroom audit checkpoint 1\n" + strconv.FormatUint(sequence, 10) + "\n" + hash + "\n")
}

// errKey says that a checkpoint is signed by a key that is not trusted.
var errKey = errors.New("is signed by a key that is not trusted")

// check returns what is wrong with a checkpoint that stands behind a record.
func (c *checkpoint) check(keys []ed25519.PublicKey, sequence uint64, hash Hash) error {
	if c.Sequence != sequence || c.Hash != hash.String() {
		return errors.New("does not sign the record before it")
	}
	signature, err := base64.StdEncoding.DecodeString(c.Signature)
	if err != nil {
		return errors.New("has no readable signature")
	}
	for _, key := range keys {
		if KeyID(key) == c.KeyID {
			if !ed25519.Verify(key, signedText(c.Sequence, c.Hash), signature) {
				return errors.New("has a signature that is not that of the key")
			}
			return nil
		}
	}
	return fmt.Errorf("%w (%.32s)", errKey, c.KeyID)
}

func readCheckpoint(details json.RawMessage) (*checkpoint, error) {
	c := new(checkpoint)
	if err := json.Unmarshal(details, c); err != nil {
		return nil, errors.New("has unreadable details")
	}
	return c, nil
}

// ParsePublicKey reads a public key in base64, as the status of the trail and the file audit.pub have it.
func ParsePublicKey(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("is not a public key: 32 bytes in base64")
	}
	return key, nil
}

// FormatPublicKey writes what ParsePublicKey reads.
func FormatPublicKey(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }
