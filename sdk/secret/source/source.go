package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/secret"
)

// Source reads a store. Methods may be called concurrently. Errors are *secret.Error, or those of the context.
type Source interface {
	// Locate returns the place that the path of a reference means, so that two spellings of a place are one. It asks
	// nobody. INVALID_REF if the path is not in the store's form.
	Locate(path string) (place string, err error)
	// Read returns what is at a place. NOT_FOUND if nothing is.
	Read(ctx context.Context, place string) (Entry, error)
}

// Follower is a Source whose store tells of changes. Places of other sources are read at intervals.
type Follower interface {
	// Follow calls saw with each state of a place that it learns of, from one goroutine, until ctx ends.
	Follow(ctx context.Context, place string, saw func(Entry, error))
}

// Entry is what is at a place.
type Entry struct {
	// Fields are what references with a key mean. Nil: this place has none.
	Fields map[string][]byte
	// Whole is the value of a reference without a key. Nil: the fields as a JSON object.
	Whole    []byte
	Version  string    // the store's, if it has some
	NotAfter time.Time // zero: the values do not expire
}

// field returns the value that a key means.
func (e *Entry) field(place, key string) (secret.Value, *secret.Error) {
	value, ok := e.Fields[key]
	switch {
	case key != "" && e.Fields == nil:
		return secret.Value{}, &secret.Error{
			Code: secret.CodeNotFound, Message: "the secret " + place + " is not a JSON object, so it has no field " + key,
			Hint: "refer to it without #" + key,
		}
	case key != "" && !ok:
		return secret.Value{}, secret.Errorf(secret.CodeNotFound, "the secret %s has no field %s", place, key)
	case key == "" && e.Whole != nil:
		value = e.Whole
	case key == "":
		var err *secret.Error
		if value, err = e.object(place); err != nil {
			return secret.Value{}, err
		}
	}
	if value == nil { // an empty secret is a secret
		value = []byte{}
	}
	return secret.NewValue(value, e.Version, e.NotAfter), nil
}

// object returns all fields as a JSON object of texts.
func (e *Entry) object(place string) ([]byte, *secret.Error) {
	texts := make(map[string]string, len(e.Fields))
	for name, value := range e.Fields {
		if !utf8.Valid(value) {
			return nil, &secret.Error{
				Code: secret.CodeInvalidRef, Message: "the secret " + place + " has binary fields, so it has no form as a whole",
				Hint: "name a field: " + place + "#FIELD",
			}
		}
		texts[name] = string(value)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(texts) != nil {
		return nil, secret.Errorf(secret.CodeInternal, "the secret %s cannot be written as JSON", place)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// mark tells the values of a place apart, without being one. The zero mark is that of a place which cannot be read. The
// version is no part of it: stores count some that change no value.
type mark [sha256.Size]byte

func (e *Entry) mark() mark {
	h := sha256.New()
	write := func(b []byte) {
		_ = binary.Write(h, binary.BigEndian, int64(len(b))) // never fails
		_, _ = h.Write(b)
	}
	write(e.Whole)
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		write([]byte(name))
		write(e.Fields[name])
	}
	return mark(h.Sum(nil))
}
