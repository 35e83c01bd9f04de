package store

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
)

// Prefixes of the key space that more than one file knows; tables.go says what lies under each. One that only its table knows
// stands there.
const (
	prefixExecution   = "x/"
	prefixActive      = "ix/xa/"
	prefixByStatus    = "ix/xs/"
	prefixByBoth      = "ix/xps/"
	prefixByBatch     = "ix/xb/"
	prefixByCreator   = "ix/xc/"
	prefixByError     = "ix/xe/"
	prefixByMetadata  = "ix/xm/"
	prefixByEnd       = "ix/xz/"
	prefixCounter     = "c/"
	prefixPattern     = "p/"
	prefixDefinition  = "d/"
	prefixRefs        = "dr/"
	prefixBatch       = "b/"
	prefixBatchInput  = "bi/"
	prefixBatchResult = "br/"
	prefixBatchValue  = "bv/"
	prefixBatchActive = "ix/ba/"
	prefixSpan        = "tp/"
	prefixAgent       = "a/"
	prefixManaged     = "ma/"
	prefixRuntime     = "rt/"
	prefixQuestion    = "q/"
	prefixIdempotency = "i/"
	prefixIdemByTime  = "ix/i/"
	prefixJournal     = "j/"
	prefixLog         = "o/"
	prefixCursor      = "cur/"

	prefixThread          = "th/"
	prefixThreadState     = "ts/"
	prefixThreadFiles     = "tf/"
	prefixThreadInput     = "ti/"
	prefixWorkspace       = "w/"
	prefixDecision        = "dc/"
	prefixDecisionPrint   = "df/"
	prefixExperience      = "e/"
	prefixExperiencePrint = "ef/"
	prefixWebhook         = "wh/"
	prefixWebhookNumber   = "wn/"
	prefixDelivery        = "v/"
	prefixDeliveries      = "ix/vl/"
	prefixDue             = "ix/vd/"
	prefixDeliveryCount   = "vc/"
	prefixAPIKey          = "k/"
	prefixAPIKeyName      = "kn/"
	prefixErasure         = "er/"
	prefixErased          = "em/"
	prefixIndex           = "ix/"
	prefixRowCount        = "n/"
	kindQuestion          = "q"
	kindThread            = "t"
	kindActiveThread      = "ta"
	kindWorkspace         = "w"
	kindDecision          = "d"
	kindExperience        = "e"
	kindAPIKey            = "k"
	kindBatch             = "b"
	kindErasure           = "z"

	prefixBroken = "bad/"

	prefixAudit       = "au/"
	prefixAuditCursor = "ac/"

	keySchema     = "meta/schema"
	keySchemaCopy = "meta/schema-copy"
	keySeq        = "meta/seq"
	keyRedo       = "meta/redo"
	keyRedoBroken = "meta/redo-broken"
	keyClock      = "meta/clock"
	keyFiller     = "meta/filler"
	keySelf       = "meta/installation"

	keyWebhooks = "meta/webhooks"
	keyAudit    = "meta/audit"
)

// maxKey is the longest key that is written. Badger's own bound is 65,000 bytes.
const maxKey = 60_000

// appendEscaped appends s so that keys sort as the strings do and none is a prefix of another.
func appendEscaped(dst []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 {
			break
		}
		dst = append(dst, s[:i]...)
		dst = append(dst, 0x00, 0xFF)
		s = s[i+1:]
	}
	dst = append(dst, s...)
	return append(dst, 0x00, 0x01)
}

// cutEscaped splits what appendEscaped wrote off the front of key. ok is false for malformed input.
func cutEscaped(key []byte) (s string, rest []byte, ok bool) {
	var escaped bool
	for i := 0; i+1 < len(key); i++ {
		if key[i] != 0 {
			continue
		}
		switch key[i+1] {
		case 0x01:
			s = string(key[:i])
			if escaped {
				s = strings.ReplaceAll(s, "\x00\xFF", "\x00")
			}
			return s, key[i+2:], true
		case 0xFF:
			escaped = true
			i++
		default:
			return "", nil, false
		}
	}
	return "", nil, false
}

func appendKey(dst []byte, prefix, id string) []byte {
	return append(append(dst, prefix...), id...)
}

func appendStatusIndex(dst []byte, status, id string) []byte {
	dst = appendEscaped(append(dst, prefixByStatus...), status)
	return append(dst, id...)
}

func appendBothIndex(dst []byte, pattern, status, id string) []byte {
	dst = appendEscaped(append(dst, prefixByBoth...), pattern)
	dst = appendEscaped(dst, status)
	return append(dst, id...)
}

func appendPatternKey(dst []byte, name, version string) []byte {
	dst = appendEscaped(append(dst, prefixPattern...), name)
	return append(dst, version...)
}

// appendItem makes the keys of batch inputs and results.
func appendItem(dst []byte, prefix, batchID string, index uint32) []byte {
	dst = appendEscaped(append(dst, prefix...), batchID)
	return binary.BigEndian.AppendUint32(dst, index)
}

func appendJournalKey(dst []byte, subject string, seq uint64) []byte {
	dst = appendEscaped(append(dst, prefixJournal...), subject)
	return binary.BigEndian.AppendUint64(dst, seq)
}

func appendLogKey(dst []byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, prefixLog...), seq)
}

// idempotencyHash folds scope and key into 32 bytes: both come from clients and may be long.
func idempotencyHash(scope, key string) [sha256.Size]byte {
	return sha256.Sum256(appendEscaped(appendEscaped(nil, scope), key))
}

func appendIdempotencyKey(dst []byte, hash [sha256.Size]byte) []byte {
	return append(append(dst, prefixIdempotency...), hash[:]...)
}

func appendIdempotencyIndex(dst []byte, claimedMs uint64, hash [sha256.Size]byte) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, prefixIdemByTime...), claimedMs)
	return append(dst, hash[:]...)
}

// lastUint64 reads the big-endian number at the end of a key; 0 for a key that is too short.
func lastUint64(key []byte) uint64 {
	if len(key) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key[len(key)-8:])
}

// lastUint32 reads the big-endian number at the end of a key; 0 for a key that is too short.
func lastUint32(key []byte) uint32 {
	if len(key) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(key[len(key)-4:])
}
