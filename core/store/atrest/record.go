package atrest

import (
	"bytes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
)

// What a sealed record is made of.
const (
	magic     = "\xffW\x01"
	saltSize  = 12
	countSize = 6
	headSize  = len(magic) + 4 + saltSize + countSize
	tagSize   = 16
	// Overhead is how much longer a record is when it is sealed.
	Overhead = headSize + tagSize
)

// maxPerSalt is how many records are sealed under a salt.
const maxPerSalt = 1 << 32

// maxCiphers bounds how many derived keys of a data key are kept. There is one for each process that wrote.
const maxCiphers = 256

// errSealed says that a record does not open. What is wrong with it cannot be told: a change, another place, another key.
var errSealed = errors.New("it does not open: it was changed, or moved here from elsewhere, or its data key is gone")

type salt [saltSize]byte

// dataKey seals and opens records. It is safe for concurrent use.
type dataKey struct {
	id  uint32
	key [keySize]byte

	mu      sync.Mutex // guards all below
	ciphers map[salt]cipher.AEAD
	sealing *run // nil until the first record

	last atomic.Pointer[run] // used last to open: most records are of one process
}

// run is a salt with its cipher.
type run struct {
	salt salt
	aead cipher.AEAD
	used atomic.Uint64 // counters given
}

func newDataKey(id uint32, key []byte) *dataKey {
	return &dataKey{id: id, key: [keySize]byte(key), ciphers: map[salt]cipher.AEAD{}}
}

// derive returns the cipher of a salt. k.mu is held.
func (k *dataKey) derive(s salt) cipher.AEAD {
	if aead, ok := k.ciphers[s]; ok {
		return aead
	}
	key, err := hkdf.Key(sha256.New, k.key[:], s[:], "wardroom store record", keySize)
	if err != nil {
		panic(err) // the length is one that there is
	}
	if len(k.ciphers) >= maxCiphers {
		clear(k.ciphers)
	}
	aead := newGCM(key)
	k.ciphers[s] = aead
	return aead
}

// begin returns the salt that records are sealed under now, and a counter under it that was never used.
func (k *dataKey) begin() (*run, uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.sealing
	if r == nil || r.used.Load() >= maxPerSalt {
		r = &run{}
		_, _ = rand.Read(r.salt[:]) // never fails
		r.aead = k.derive(r.salt)
		k.sealing = r
	}
	return r, r.used.Add(1) - 1
}

// cipherOf returns the cipher of a salt that a record names.
func (k *dataKey) cipherOf(s []byte) cipher.AEAD {
	if r := k.last.Load(); r != nil && bytes.Equal(r.salt[:], s) {
		return r.aead
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r := &run{salt: salt(s)}
	r.aead = k.derive(r.salt)
	k.last.Store(r)
	return r.aead
}

// seal appends the sealed form of a value that belongs under key.
func (k *dataKey) seal(dst, key, value []byte) []byte {
	r, count := k.begin()
	dst = append(dst, magic...)
	dst = binary.BigEndian.AppendUint32(dst, k.id)
	dst = append(dst, r.salt[:]...)
	var nonce [12]byte
	binary.BigEndian.PutUint64(nonce[4:], count)
	dst = append(dst, nonce[12-countSize:]...)
	return r.aead.Seal(dst, nonce[:], value, key)
}

// open appends what is sealed in a record that lies under key.
func (k *dataKey) open(dst, key, sealed []byte) ([]byte, error) {
	var nonce [12]byte
	copy(nonce[12-countSize:], sealed[headSize-countSize:headSize])
	plain, err := k.cipherOf(sealed[len(magic)+4:len(magic)+4+saltSize]).Open(dst, nonce[:], sealed[headSize:], key)
	if err != nil {
		return dst, errSealed
	}
	return plain, nil
}

// keyOf returns the number of the data key that a record is sealed by.
func keyOf(stored []byte) (id uint32, ok bool) {
	if len(stored) < Overhead || string(stored[:len(magic)]) != magic {
		return 0, false
	}
	return binary.BigEndian.Uint32(stored[len(magic):]), true
}

// Unopened reports whether a value is one that did not open: readers get such a record as it is stored, which is none that
// they know.
func Unopened(value []byte) bool {
	return len(value) >= len(magic) && string(value[:len(magic)]) == magic
}

// ErrUnopened is why such a value is no record.
var ErrUnopened = errSealed
