package trail

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Redact appends the canonical text of a record from which something was taken out. PreviousHash and Hash of the record
// stay what they were, so that the records around it chain as before; what is left of it is signed instead, together with
// them. A record that was redacted before is signed anew.
func Redact(dst []byte, r *wire.AuditRecord, key ed25519.PrivateKey, erasure string, at time.Time) []byte {
	own := *r
	own.Redacted = &wire.AuditRedaction{At: at.UTC().Truncate(time.Millisecond), Erasure: erasure, PublicKey: FormatPublicKey(key.Public().(ed25519.PublicKey))}
	own.Redacted.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(key, redactedText(&own)))
	return appendRecord(dst, &own)
}

// appendRecord appends the canonical text of a record with the hashes that it names.
func appendRecord(dst []byte, r *wire.AuditRecord) []byte {
	dst = appendBody(dst, r)
	dst = append(append(dst, previousMember...), r.PreviousHash...)
	dst = append(append(dst, hashMember...), r.Hash...)
	return append(dst, `"}`...)
}

func appendRedaction(dst []byte, r *wire.AuditRedaction) []byte {
	dst = append(dst, `,"redacted":{"at":"`...)
	dst = r.At.UTC().AppendFormat(dst, timeForm)
	dst = append(dst, '"')
	dst = appendMember(dst, `,"erasure":`, r.Erasure)
	dst = appendMember(dst, `,"publicKey":`, r.PublicKey)
	dst = appendMember(dst, `,"signature":`, r.Signature)
	return append(dst, '}')
}

// redactedText is what is signed of a redacted record: all of it but the signature.
func redactedText(r *wire.AuditRecord) []byte {
	own, redaction := *r, *r.Redacted
	redaction.Signature = ""
	own.Redacted = &redaction
	sum := sha256.Sum256(appendRecord(nil, &own))
	return []byte("wardroom audit redaction 1\n" + hex.EncodeToString(sum[:]) + "\n")
}

// checkRedaction reports whether one of the keys signed what is left of a record.
func checkRedaction(r *wire.AuditRecord, keys []ed25519.PublicKey) bool {
	signature, err := base64.StdEncoding.DecodeString(r.Redacted.Signature)
	if err != nil {
		return false
	}
	text := redactedText(r)
	return slices.ContainsFunc(keys, func(key ed25519.PublicKey) bool { return ed25519.Verify(key, text, signature) })
}
