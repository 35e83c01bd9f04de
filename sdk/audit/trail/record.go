package trail

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Hash is the SHA-256 of a record.
type Hash [sha256.Size]byte

// String returns hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads what String returned.
func ParseHash(text string) (h Hash, err error) {
	if len(text) != 2*len(h) {
		return h, errors.New("is not the 64 hexadecimal digits of a hash")
	}
	_, err = hex.Decode(h[:], []byte(text))
	return h, err
}

// timeForm is the form of timestamps, in UTC.
const timeForm = "2006-01-02T15:04:05.000Z"

// The end of a sealed record: the hash of the one before, and its own.
const (
	previousMember = `,"previousHash":"`
	hashMember     = `","hash":"`
	hashDigits     = 2 * sha256.Size
	tailLength     = len(previousMember) + hashDigits + len(hashMember) + hashDigits + len(`"}`)
	ownLength      = len(`,"hash":"`) + hashDigits + len(`"}`)
)

// AppendSealed appends the canonical text of a record with its hash, and returns the hash. The record's own
// PreviousHash and Hash are ignored. Details must be a JSON object in canonical form, or empty.
func AppendSealed(dst []byte, r *wire.AuditRecord, previous Hash) ([]byte, Hash) {
	start := len(dst)
	dst = appendBody(dst, r)
	dst = append(dst, previousMember...)
	dst = hex.AppendEncode(dst, previous[:])
	dst = append(dst, `"}`...)
	sum := sha256.Sum256(dst[start:])
	dst = append(dst[:len(dst)-1], `,"hash":"`...)
	dst = hex.AppendEncode(dst, sum[:])
	return append(dst, `"}`...), sum
}

// appendBody appends the members up to previousHash.
func appendBody(dst []byte, r *wire.AuditRecord) []byte {
	dst = append(dst, `{"sequence":`...)
	dst = strconv.AppendUint(dst, r.Sequence, 10)
	dst = appendMember(dst, `,"eventId":`, r.EventID)
	dst = append(dst, `,"timestamp":"`...)
	dst = r.Timestamp.UTC().AppendFormat(dst, timeForm)
	dst = append(dst, '"')
	dst = appendMember(dst, `,"category":`, r.Category)
	dst = appendMember(dst, `,"action":`, r.Action)
	dst = appendMember(dst, `,"outcome":`, r.Outcome)
	dst = appendMember(dst, `,"actor":{"type":`, r.Actor.Type)
	dst = appendMember(dst, `,"id":`, r.Actor.ID)
	dst = appendGiven(dst, `,"ip":`, r.Actor.IP)
	dst = appendGiven(dst, `,"userAgent":`, r.Actor.UserAgent)
	dst = appendMember(dst, `},"resource":{"type":`, r.Resource.Type)
	dst = appendGiven(dst, `,"id":`, r.Resource.ID)
	dst = appendGiven(dst, `,"version":`, r.Resource.Version)
	dst = append(dst, `},"details":`...)
	if len(r.Details) == 0 {
		dst = append(dst, `{}`...)
	} else {
		dst = append(dst, r.Details...)
	}
	dst = append(dst, `,"request":{`...)
	at := len(dst)
	dst = appendGiven(dst, `,"method":`, r.Request.Method)
	dst = appendGiven(dst, `,"path":`, r.Request.Path)
	dst = appendGiven(dst, `,"requestId":`, r.Request.RequestID)
	if len(dst) > at { // without the first comma
		dst = append(dst[:at], dst[at+1:]...)
	}
	dst = append(dst, '}')
	if r.Redacted != nil {
		dst = appendRedaction(dst, r.Redacted)
	}
	return dst
}

func appendGiven(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendMember(dst, name, value)
}

func appendMember(dst []byte, name, value string) []byte {
	return AppendText(append(dst, name...), value)
}

const digits = "0123456789abcdef"

// AppendText appends a JSON string as the canonical form has it: only quotes, backslashes and control characters are
// escaped, and what is not UTF-8 is replaced.
func AppendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b >= 0x20 && b != '"' && b != '\\' && b != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[from:i]...)
			switch b {
			case '"', '\\':
				dst = append(dst, '\\', b)
			case '\n':
				dst = append(dst, `\n`...)
			case '\r':
				dst = append(dst, `\r`...)
			case '\t':
				dst = append(dst, `\t`...)
			default:
				dst = append(dst, '\\', 'u', '0', '0', digits[b>>4], digits[b&15])
			}
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
			dst = append(dst, s[from:i]...)
			switch r {
			case '\u2028':
				dst = append(dst, `\u2028`...)
			case '\u2029':
				dst = append(dst, `\u2029`...)
			default:
				dst = append(dst, "\uFFFD"...)
			}
			from = i + size
		}
		i += size
	}
	return append(append(dst, s[from:]...), '"')
}

// Canonical returns the canonical text of a value that JSON can have: members sorted by name, no blanks, texts as
// AppendText writes them, numbers as they are.
func Canonical(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return appendValue(nil, v), nil
}

// Parse reads a record, in any form that JSON has. It does not look at hashes.
func Parse(line []byte) (*wire.AuditRecord, error) {
	r := new(wire.AuditRecord)
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("is not an audit record: %w", err)
	}
	if d.More() {
		return nil, errors.New("is more than one record in a line")
	}
	if len(r.Details) > 0 {
		details, err := Canonical(r.Details)
		if err != nil {
			return nil, err
		}
		r.Details = details
	}
	return r, nil
}

// place is what chains a record to its neighbours.
type place struct {
	sequence       uint64
	previous, hash Hash
	sound          bool // the hash is that of the content
}

// errForm says that a line is not in canonical form.
var errForm = errors.New("not in canonical form")

// placeOf reads the place of a record in canonical form, without reading what is between.
func placeOf(line []byte) (p place, err error) {
	const begin = `{"sequence":`
	n := len(line)
	if n < len(begin)+tailLength || !bytes.HasPrefix(line, []byte(begin)) || !bytes.HasSuffix(line, []byte(`"}`)) {
		return p, errForm
	}
	tail := line[n-tailLength:]
	if !bytes.HasPrefix(tail, []byte(previousMember)) || !bytes.HasPrefix(tail[len(previousMember)+hashDigits:], []byte(hashMember)) {
		return p, errForm
	}
	if _, err := hex.Decode(p.previous[:], tail[len(previousMember):len(previousMember)+hashDigits]); err != nil {
		return p, errForm
	}
	if _, err := hex.Decode(p.hash[:], tail[tailLength-2-hashDigits:tailLength-2]); err != nil {
		return p, errForm
	}
	for _, b := range line[len(begin):] {
		if b < '0' || b > '9' || p.sequence > 1<<60 {
			break
		}
		p.sequence = p.sequence*10 + uint64(b-'0')
	}
	h := sha256.New()
	_, _ = h.Write(line[:n-ownLength])
	_, _ = h.Write([]byte{'}'})
	var sum Hash
	h.Sum(sum[:0])
	p.sound = sum.String() == string(line[n-2-hashDigits:n-2]) // to the letter: capital digits are a change too
	return p, nil
}

// read returns the place of a record in any form, and the record itself unless it is in canonical form.
func read(line []byte) (place, *wire.AuditRecord, error) {
	p, err := placeOf(line)
	if err == nil && p.sound {
		return p, nil, nil
	}
	r, err := Parse(line)
	if err != nil {
		return p, nil, err
	}
	if p, err = placeOfRecord(r); err != nil || !p.sound {
		return p, r, err
	}
	// It says the same in another form, such as with blanks; but it has to say that and nothing else. What is redacted is
	// compared by the verifier.
	sealed, _ := AppendSealed(nil, r, p.previous)
	p.sound = !doubled(json.NewDecoder(bytes.NewReader(line))) && sameValue(line, sealed)
	return p, r, nil
}

// sameValue reports whether two texts are the same value of JSON, to the letter of its names.
func sameValue(a, b []byte) bool {
	x, errX := Canonical(a)
	y, errY := Canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// doubled reports whether an object in a text has a name twice.
func doubled(d *json.Decoder) bool {
	token, err := d.Token()
	if err != nil {
		return true
	}
	open, ok := token.(json.Delim)
	if !ok {
		return false
	}
	names := map[string]bool{}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			text, _ := name.(string)
			if err != nil || names[text] {
				return true
			}
			names[text] = true
		}
		if doubled(d) {
			return true
		}
	}
	_, err = d.Token()
	return err != nil
}

func placeOfRecord(r *wire.AuditRecord) (p place, err error) {
	p.sequence = r.Sequence
	if p.previous, err = ParseHash(r.PreviousHash); err != nil {
		return p, fmt.Errorf("previousHash %w", err)
	}
	if p.hash, err = ParseHash(r.Hash); err != nil {
		return p, fmt.Errorf("hash %w", err)
	}
	_, sum := AppendSealed(nil, r, p.previous)
	p.sound = sum == p.hash
	return p, nil
}

// Time returns the time of a record in canonical form; zero for one that is not.
func Time(line []byte) time.Time {
	const name = `"timestamp":"`
	i := bytes.Index(line, []byte(name))
	if i < 0 || len(line) < i+len(name)+len(timeForm) {
		return time.Time{}
	}
	t, _ := time.Parse(timeForm, string(line[i+len(name):i+len(name)+len(timeForm)]))
	return t
}
