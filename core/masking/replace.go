package masking

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// Methods.
const (
	Redact  = "redact"  // the value is gone
	Hash    = "hash"    // equal values stay equal; without the key they can be neither read nor guessed
	Partial = "partial" // the end is shown, so that people recognise it
)

// Mark stands for what is not shown.
const Mark = "***"

// hashPrefix begins a value that was hashed.
const hashPrefix = "hmac:"

// maxShown bounds what partial shows, in characters; never more than a quarter of a text.
const maxShown = 4

// replacer makes what stands for a value.
type replacer struct {
	method string
	key    [32]byte
}

func newReplacer(method string, key [32]byte) (replacer, error) {
	switch method {
	case Redact, Hash, Partial:
		return replacer{method, key}, nil
	}
	return replacer{}, fmt.Errorf("%q is no method; there are redact, hash and partial", method)
}

// text returns what stands for a text.
func (r *replacer) text(text []byte) string {
	switch r.method {
	case Hash:
		mac := hmac.New(sha256.New, r.key[:])
		mac.Write(text)
		return hashPrefix + hex.EncodeToString(mac.Sum(nil)[:16])
	case Partial:
		from := len(text)
		for range min(maxShown, utf8.RuneCount(text)/4) {
			_, n := utf8.DecodeLastRune(text[:from])
			from -= n
		}
		return Mark + string(text[from:])
	}
	return Mark
}

// append appends what stands for a scalar as JSON.
func (r *replacer) append(dst, scalar []byte) []byte {
	if r.method == Redact {
		return append(dst, `"`+Mark+`"`...)
	}
	if scalar[0] == '"' {
		scalar = rawjson.Unquote(scalar)
	}
	return rawjson.AppendString(dst, r.text(scalar))
}
