// Package seal encrypts small secrets that are stored: environments of threads, and secrets of triggers and webhooks.
//
// It owns the form of what is sealed (AES-256-GCM, a random nonce before it, the name of what it belongs to authenticated
// with it). It neither makes nor keeps keys: appliance reads them from files beside the store. Services call it with the
// id of the record as the name, so that what is sealed for one cannot be put into another.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
)

// Box seals and opens with one key. It is safe for concurrent use.
type Box struct{ aead cipher.AEAD }

// New returns the box of a key.
func New(key [32]byte) *Box {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has blocks of 16 bytes
	}
	return &Box{aead}
}

// Seal encrypts the JSON of a value under a name.
func (b *Box) Seal(name string, value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return b.SealBytes(name, plain), nil
}

// SealBytes encrypts bytes under a name.
func (b *Box) SealBytes(name string, plain []byte) []byte {
	nonce := make([]byte, b.aead.NonceSize(), b.aead.NonceSize()+len(plain)+b.aead.Overhead())
	_, _ = rand.Read(nonce) // never fails
	return b.aead.Seal(nonce, nonce, plain, []byte(name))
}

// Open decrypts into a value what Seal made under a name, and reports whether that was so.
func (b *Box) Open(name string, sealed []byte, into any) bool {
	plain, ok := b.OpenBytes(name, sealed)
	return ok && json.Unmarshal(plain, into) == nil
}

// OpenBytes decrypts what was sealed under a name, and reports whether that was so.
func (b *Box) OpenBytes(name string, sealed []byte) ([]byte, bool) {
	n := b.aead.NonceSize()
	if len(sealed) <= n {
		return nil, false
	}
	plain, err := b.aead.Open(nil, sealed[:n], sealed[n:], []byte(name))
	return plain, err == nil
}
