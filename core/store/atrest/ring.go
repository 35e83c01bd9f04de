package atrest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ringFormat is the version of the ring that this program writes, and the only one that it reads.
const ringFormat = 1

// maxRing bounds the data keys of a ring. There are two while records are sealed anew, and one otherwise.
const maxRing = 16

// ringFile is the ring as it is stored.
type ringFile struct {
	Format  int       `json:"format"`
	Store   string    `json:"store"`   // chosen at random; part of what is authenticated
	Current uint32    `json:"current"` // data key of what is written
	Keys    []ringKey `json:"keys"`
	Tables  *Wrapped  `json:"tables,omitempty"` // under which the database encrypts its files, if it does
}

type ringKey struct {
	ID        uint32    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
	Wrapped
}

// Ring has the data keys of a store. It is safe for concurrent use.
type Ring struct {
	source KeySource
	save   func(data []byte) error // keeps the ring durably, as a whole

	tables []byte // immutable once the ring is made

	changing sync.Mutex // held while the ring changes, which waits for the source of the master key; taken before mu
	mu       sync.Mutex // guards file, which only who holds changing changes
	file     ringFile

	keys    atomic.Pointer[map[uint32]*dataKey] // as loaded or made; those that the file dropped stay for readers of the past
	current atomic.Pointer[dataKey]
}

// NewRing makes a ring with one data key and saves it. With names it has a key for the files of the database too.
func NewRing(ctx context.Context, source KeySource, names bool, now time.Time, save func(data []byte) error) (*Ring, error) {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	r := &Ring{source: source, save: save, file: ringFile{Format: ringFormat, Store: hex.EncodeToString(id[:])}}
	if names {
		r.tables = newKey()
	}
	r.keys.Store(&map[uint32]*dataKey{})
	r.changing.Lock()
	defer r.changing.Unlock()
	return r, r.add(ctx, now)
}

// OpenRing unwraps the keys of a ring. The error wraps ErrKey when the source has not the master key.
func OpenRing(ctx context.Context, source KeySource, data []byte, save func(data []byte) error) (*Ring, error) {
	r := &Ring{source: source, save: save}
	if err := json.Unmarshal(data, &r.file); err != nil || r.file.Format < 1 {
		return nil, errors.New("the ring of data keys is damaged: put back the file as it was, from a copy of the directory")
	}
	if r.file.Format != ringFormat {
		return nil, fmt.Errorf("the ring of data keys has format %d, and this program reads format %d: use the program that wrote it, or a newer one", r.file.Format, ringFormat)
	}
	keys := map[uint32]*dataKey{}
	for _, k := range r.file.Keys {
		key, err := r.unwrap(ctx, k.Wrapped, r.about(k.ID))
		if err != nil {
			return nil, err
		}
		keys[k.ID] = newDataKey(k.ID, key)
	}
	if r.file.Tables != nil {
		var err error
		if r.tables, err = r.unwrap(ctx, *r.file.Tables, r.about(0)); err != nil {
			return nil, err
		}
	}
	if keys[r.file.Current] == nil {
		return nil, errors.New("the ring of data keys names one that it does not have")
	}
	r.keys.Store(&keys)
	r.current.Store(keys[r.file.Current])
	return r, nil
}

func (r *Ring) unwrap(ctx context.Context, w Wrapped, about string) ([]byte, error) {
	key, err := r.source.Unwrap(ctx, w, about)
	if err == nil && len(key) != keySize {
		err = fmt.Errorf("%w: %s gave a key of another length", ErrKey, r.source)
	}
	return key, err
}

// about says what a key of the ring is for; 0 stands for that of the database's files.
func (r *Ring) about(id uint32) string {
	return fmt.Sprintf("wardroom store %s key %d", r.file.Store, id)
}

func newKey() []byte {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return key
}

// TableKey is the key under which the database encrypts its files; nil when it does not.
func (r *Ring) TableKey() []byte { return slices.Clone(r.tables) }

// Rotate makes a new data key, which everything is sealed by from now on, and wraps all keys by the present master key.
func (r *Ring) Rotate(ctx context.Context, now time.Time) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	return r.add(ctx, now)
}

// add makes a data key the current one. r.changing is held.
func (r *Ring) add(ctx context.Context, now time.Time) error {
	if len(r.file.Keys) >= maxRing {
		return fmt.Errorf("the ring has %d data keys already", maxRing)
	}
	next := r.file
	next.Keys = nil
	id := uint32(1)
	known := maps.Clone(*r.keys.Load())
	for _, k := range r.file.Keys {
		id = max(id, k.ID+1)
		wrapped, err := r.source.Wrap(ctx, known[k.ID].key[:], r.about(k.ID))
		if err != nil {
			return err
		}
		next.Keys = append(next.Keys, ringKey{k.ID, k.CreatedAt, wrapped})
	}
	fresh := newDataKey(id, newKey())
	wrapped, err := r.source.Wrap(ctx, fresh.key[:], r.about(id))
	if err != nil {
		return err
	}
	next.Keys, next.Current = append(next.Keys, ringKey{id, now.UTC().Truncate(time.Second), wrapped}), id
	if r.tables != nil {
		tables, err := r.source.Wrap(ctx, r.tables, r.about(0))
		if err != nil {
			return err
		}
		next.Tables = &tables
	}
	if err := r.store(next); err != nil {
		return err
	}
	known[id] = fresh
	r.keys.Store(&known)
	r.current.Store(fresh)
	return nil
}

// Drop forgets every data key but the current one: nothing is sealed by them any more.
func (r *Ring) Drop() error {
	r.changing.Lock()
	defer r.changing.Unlock()
	next := r.file
	next.Keys = slices.DeleteFunc(slices.Clone(r.file.Keys), func(k ringKey) bool { return k.ID != r.file.Current })
	if len(next.Keys) == len(r.file.Keys) {
		return nil
	}
	return r.store(next)
}

// store keeps the ring as it is next. r.changing is held.
func (r *Ring) store(next ringFile) error {
	data, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	if err := r.save(append(data, '\n')); err != nil {
		return fmt.Errorf("keep the ring of data keys: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file = next
	return nil
}

// RingStatus is what is known of a ring.
type RingStatus struct {
	Source    string    // of the master key
	MasterKey string    // id of the one that wraps the data keys
	DataKey   uint32    // current one
	Since     time.Time // it is that
	DataKeys  int       // more than one while records are sealed by others
	Names     bool      // the database encrypts its files too
}

// Status returns what is known of the ring.
func (r *Ring) Status() RingStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := RingStatus{Source: r.source.String(), DataKey: r.file.Current, DataKeys: len(r.file.Keys), Names: r.tables != nil}
	for _, k := range r.file.Keys {
		if k.ID == r.file.Current {
			s.MasterKey, s.Since = k.KeyID, k.CreatedAt
		}
	}
	return s
}

// Seal returns the sealed form of a value, for a writer that goes past the DB.
func (r *Ring) Seal(key, value []byte) []byte {
	if len(value) == 0 {
		return []byte{}
	}
	return r.seal(make([]byte, 0, len(value)+Overhead), key, value)
}

// seal appends the sealed form of a value.
func (r *Ring) seal(dst, key, value []byte) []byte { return r.current.Load().seal(dst, key, value) }

// open appends what is sealed in a stored value.
func (r *Ring) open(dst, key, stored []byte) ([]byte, error) {
	id, ok := keyOf(stored)
	if !ok {
		return dst, errSealed
	}
	k := (*r.keys.Load())[id]
	if k == nil {
		return dst, errSealed
	}
	return k.open(dst, key, stored)
}
