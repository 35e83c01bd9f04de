package trail

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Kinds of findings.
const (
	FindingChanged  = "changed"    // the content of a record is not what was sealed
	FindingReplaced = "replaced"   // a record was changed and sealed anew, or another was put in its place
	FindingRemoved  = "removed"    // records are not there
	FindingInserted = "inserted"   // a record that does not belong there
	FindingMoved    = "moved"      // a record is not where it belongs
	FindingUnread   = "unreadable" // a line is no record
	FindingSigned   = "signature"  // a checkpoint does not sign what is before it, or by a key that is not trusted
)

// Finding is something that is wrong with a trail.
type Finding struct {
	Kind     string `json:"kind"`
	Sequence uint64 `json:"sequence,omitempty"` // of the record; 0: it cannot be read
	To       uint64 `json:"to,omitempty"`       // of the last record, of several
	File     string `json:"file,omitempty"`     // in which it was noticed, if it has a name
	Line     int    `json:"line"`               // where it was noticed, from 1
	Text     string `json:"text"`
}

// Report is what came of a verification.
type Report struct {
	OK          bool      `json:"ok"`
	Records     int       `json:"records"`
	First       uint64    `json:"first"`
	Last        uint64    `json:"last"`
	Hash        string    `json:"hash"`                 // of the last record
	Duplicates  int       `json:"duplicates"`           // records that are there again, to the byte, which is harmless
	Checkpoints int       `json:"checkpoints"`          // with a good signature
	Signed      uint64    `json:"signed"`               // sequence up to which a checkpoint signs; what is behind it could be cut off unnoticed
	Trimmed     uint64    `json:"trimmed,omitempty"`    // sequence up to which retention says that it removed records
	Redacted    int       `json:"redacted,omitempty"`   // records that an erasure took a person out of, with a good signature
	KeysGiven   bool      `json:"keysGiven"`            // signatures were checked with keys from elsewhere
	Findings    []Finding `json:"findings"`             // the first MaxFindings
	More        int       `json:"more,omitempty"`       // findings beyond those
	SelfSigned  string    `json:"selfSigned,omitempty"` // key that the checkpoints themselves name, where no keys were given
	Unfinished  *Finding  `json:"unfinished,omitempty"` // the last line, which has no end yet as its file is being written: no damage
}

// MaxFindings bounds the findings of a report.
const MaxFindings = 100

// remembered is how many records back a duplicate is recognised.
const remembered = 1 << 16

// Verifier goes over the records of a trail, one after the other. The zero value is ready; one goroutine uses it.
type Verifier struct {
	// Keys are trusted to sign checkpoints. None: the keys that the checkpoints name are taken, which shows accidents
	// and clumsy changes, but not a chain that somebody made anew with a key of their own.
	Keys []ed25519.PublicKey
	// Whole says that the trail is to begin with its first record, or behind what retention removed.
	Whole bool
	// Growing reports whether the file of Begin is being written to; nil: it is not. If it is, a last line without its end is no
	// damage, unless other lines come behind it. It is called once such a line was read, by VerifyFile.
	Growing func() bool

	report     Report
	file       string
	begin      string // file of the first record
	line       int
	last       place
	recent     map[uint64]Hash
	missing    []span   // that were found missing, and may come later
	unfinished *Finding // of the line that was read last, if it is one that Growing is about
}

// span is a row of sequences.
type span struct{ from, to uint64 }

var checkpointMark, trimMark = []byte(`"action":"` + ActionCheckpoint + `"`), []byte(`"action":"` + ActionTrim + `"`)

// Begin says that the lines that come are those of a file.
func (v *Verifier) Begin(file string) { v.file, v.line = file, 0 }

// Add takes in the next line, which is not kept. An empty one is passed over.
func (v *Verifier) Add(line []byte) {
	v.line++
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	v.goesOn()
	p, r, err := read(line)
	if err != nil {
		v.find(Finding{Kind: FindingUnread, Text: err.Error()})
		return
	}
	if r != nil && r.Redacted != nil {
		p.sound = !doubled(json.NewDecoder(bytes.NewReader(line))) && sameValue(line, appendRecord(nil, r)) && v.redaction(r)
	}
	if !v.place(p) {
		return
	}
	if r == nil && (bytes.Contains(line, checkpointMark) || bytes.Contains(line, trimMark)) {
		r, _ = Parse(line) // what is none is about nothing
	}
	if r != nil {
		v.about(r, p)
	}
}

// addOpen takes in a last line without its end.
func (v *Verifier) addOpen(line []byte) {
	if text := bytes.TrimSpace(line); len(text) > 0 {
		if _, _, err := read(text); err != nil && v.Growing != nil && v.Growing() {
			v.line++
			v.goesOn()
			v.unfinished = &Finding{Kind: FindingUnread, File: v.file, Line: v.line, Text: err.Error()}
			return
		}
	}
	v.Add(line)
}

// goesOn notes that another line comes: one before it that has no end is damage.
func (v *Verifier) goesOn() {
	if v.unfinished != nil {
		v.keep(*v.unfinished)
		v.unfinished = nil
	}
}

// AddRecord takes in the next record.
func (v *Verifier) AddRecord(r *wire.AuditRecord) {
	v.line++
	v.goesOn()
	p, err := placeOfRecord(r)
	if err != nil {
		v.find(Finding{Kind: FindingUnread, Sequence: r.Sequence, Text: err.Error()})
		return
	}
	if r.Redacted != nil {
		p.sound = v.redaction(r)
	}
	if v.place(p) {
		v.about(r, p)
	}
}

// redaction reports whether a redacted record is signed by a key that is trusted, and counts it.
func (v *Verifier) redaction(r *wire.AuditRecord) bool {
	ok := checkRedaction(r, v.keys(r.Redacted.PublicKey))
	if ok {
		v.report.Redacted++
	}
	return ok
}

// Unreadable notes a line that is no record, for reasons that its reader knows.
func (v *Verifier) Unreadable(reason string) {
	v.line++
	v.goesOn()
	v.find(Finding{Kind: FindingUnread, Text: reason})
}

// place compares a record with those before it, and reports whether it is the next one.
func (v *Verifier) place(p place) bool {
	if v.recent == nil {
		v.recent = map[uint64]Hash{}
	}
	if have, ok := v.recent[p.sequence]; ok && have == p.hash && p.sound {
		v.report.Duplicates++
		return false
	}
	v.report.Records++
	begins := v.last == place{}
	if begins {
		v.report.First, v.begin = p.sequence, v.file
	}
	if !p.sound {
		v.find(Finding{Kind: FindingChanged, Sequence: p.sequence, Text: fmt.Sprintf("record %d was changed: its hash is not that of its content", p.sequence)})
	}
	next := v.last.sequence + 1
	switch {
	case begins:
	case p.sequence == next:
		if p.previous != v.last.hash {
			v.find(Finding{Kind: FindingReplaced, Sequence: v.last.sequence, Text: fmt.Sprintf(
				"record %d was changed and sealed anew, or replaced: record %d follows another one", v.last.sequence, p.sequence)})
		}
	case p.sequence > next:
		v.missing = append(v.missing, span{next, p.sequence - 1})
		v.find(Finding{Kind: FindingRemoved, Sequence: next, To: p.sequence - 1, Text: gone(next, p.sequence-1)})
	case v.wasMissing(p.sequence):
		v.find(Finding{Kind: FindingMoved, Sequence: p.sequence, Text: fmt.Sprintf("record %d stands behind record %d", p.sequence, v.last.sequence)})
		return false
	default:
		v.find(Finding{Kind: FindingInserted, Sequence: p.sequence, Text: fmt.Sprintf(
			"a record %d was inserted behind record %d, or the trail began anew there, as after an older dump was restored", p.sequence, v.last.sequence)})
		return false
	}
	v.last = p
	v.recent[p.sequence] = p.hash
	if p.sequence > remembered {
		delete(v.recent, p.sequence-remembered)
	}
	return true
}

func gone(from, to uint64) string {
	if from == to {
		return fmt.Sprintf("record %d was removed", from)
	}
	return fmt.Sprintf("records %d to %d were removed", from, to)
}

func (v *Verifier) wasMissing(sequence uint64) bool {
	return slices.ContainsFunc(v.missing, func(s span) bool { return sequence >= s.from && sequence <= s.to })
}

// about looks at a record that is about the trail itself.
func (v *Verifier) about(r *wire.AuditRecord, p place) {
	switch r.Action {
	case ActionTrim:
		var d struct {
			Through uint64 `json:"through"`
		}
		if json.Unmarshal(r.Details, &d) == nil {
			v.report.Trimmed = max(v.report.Trimmed, d.Through)
		}
	case ActionCheckpoint:
		c, err := readCheckpoint(r.Details)
		if err == nil {
			err = c.check(v.keys(c.PublicKey), p.sequence-1, p.previous)
		}
		if err != nil {
			v.find(Finding{Kind: FindingSigned, Sequence: p.sequence, Text: fmt.Sprintf("the checkpoint %d %s", p.sequence, err)})
			return
		}
		v.report.Checkpoints++
		v.report.Signed = p.sequence - 1
	}
}

// keys returns what a checkpoint, or a redacted record, that names a key may be signed by.
func (v *Verifier) keys(named string) []ed25519.PublicKey {
	if len(v.Keys) > 0 {
		return v.Keys
	}
	key, err := ParsePublicKey(named)
	if err != nil {
		return nil
	}
	id := KeyID(key)
	v.report.SelfSigned = cmp.Or(v.report.SelfSigned, id)
	if v.report.SelfSigned != id { // one trail, one key
		return nil
	}
	return []ed25519.PublicKey{key}
}

func (v *Verifier) find(f Finding) {
	f.File, f.Line = v.file, v.line
	v.keep(f)
}

func (v *Verifier) keep(f Finding) {
	if len(v.report.Findings) >= MaxFindings {
		v.report.More++
		return
	}
	v.report.Findings = append(v.report.Findings, f)
}

// Report returns what was found so far.
func (v *Verifier) Report() Report {
	r := v.report
	r.KeysGiven = len(v.Keys) > 0
	r.Last, r.Unfinished = v.last.sequence, v.unfinished
	if r.Records > 0 {
		r.Hash = v.last.hash.String()
	}
	if v.Whole && r.First > 1 && r.First != r.Trimmed+1 {
		before := "retention removed nothing"
		if r.Trimmed > 0 {
			before = fmt.Sprintf("retention removed those up to %d", r.Trimmed)
		}
		r.Findings = append(r.Findings[:len(r.Findings):len(r.Findings)], Finding{
			Kind: FindingRemoved, Sequence: r.Trimmed + 1, To: r.First - 1, File: v.begin, Line: 1,
			Text: fmt.Sprintf("the trail begins with record %d, and %s", r.First, before),
		})
	}
	if v.Whole && r.Records == 0 && v.file != "" && len(r.Findings) == 0 && r.Unfinished == nil { // files of a trail that was on have its first records
		r.Findings = []Finding{{Kind: FindingRemoved, Sequence: 1, File: v.file, Text: "there is no record, not even the first one"}}
	}
	r.OK = len(r.Findings) == 0 && r.More == 0
	return r
}
