package trail

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Format is a form of exports.
type Format string

// Formats.
const (
	FormatJSON Format = "json" // a canonical record a line
	FormatCSV  Format = "csv"  // with a header; text that a spreadsheet would take for a formula begins with an apostrophe
	FormatCEF  Format = "cef"  // ArcSight Common Event Format, an event a line
)

// Writer writes an export. One goroutine uses it.
type Writer struct {
	format  Format
	version string
	out     *bufio.Writer
	csv     *csv.Writer
	row     []string
}

// NewWriter makes a writer; version is that of the product, which CEF names.
func NewWriter(w io.Writer, format Format, version string) (*Writer, error) {
	e := &Writer{format: format, version: version, out: bufio.NewWriterSize(w, 64<<10)}
	switch format {
	case FormatJSON, FormatCEF:
		return e, nil
	case FormatCSV:
		e.csv = csv.NewWriter(e.out)
		return e, e.csv.Write(columns)
	}
	return nil, fmt.Errorf("there is no format %.20q", format)
}

// ErrUnreadable is wrapped by the error of Write for what is no record.
var ErrUnreadable = errors.New("the record cannot be read")

// Write adds a record in canonical form. ErrUnreadable for one that cannot be read, of which nothing is written; as JSON each is written
// as it is.
func (e *Writer) Write(line []byte) error {
	if e.format == FormatJSON {
		_, _ = e.out.Write(line) // an error comes again with the next
		return e.out.WriteByte('\n')
	}
	r, err := Parse(line)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if e.format == FormatCSV {
		e.row = appendRow(e.row[:0], r)
		return e.csv.Write(e.row)
	}
	_, err = e.out.WriteString(cef(r, e.version) + "\n")
	return err
}

// Flush hands on what was written.
func (e *Writer) Flush() error {
	if e.csv != nil {
		e.csv.Flush()
		if err := e.csv.Error(); err != nil {
			return err
		}
	}
	return e.out.Flush()
}

// columns are those of CSV. Together they hold all of a record, so that an export can be verified.
var columns = []string{
	"sequence", "eventId", "timestamp", "category", "action", "outcome", "actorType", "actorId", "actorIp", "actorUserAgent",
	"resourceType", "resourceId", "resourceVersion", "details", "method", "path", "requestId", "previousHash", "hash",
	"redacted",
}

// formerColumns is how many columns exports of former versions have.
const formerColumns = 19

func appendRow(row []string, r *wire.AuditRecord) []string {
	row = append(row, strconv.FormatUint(r.Sequence, 10), r.EventID, r.Timestamp.UTC().Format(timeForm), r.Category, r.Action, r.Outcome,
		r.Actor.Type, r.Actor.ID, r.Actor.IP, r.Actor.UserAgent, r.Resource.Type, r.Resource.ID, r.Resource.Version,
		string(r.Details), r.Request.Method, r.Request.Path, r.Request.RequestID, r.PreviousHash, r.Hash, redactionText(r.Redacted))
	for i, text := range row {
		row[i] = asCell(text)
	}
	return row
}

// asCell returns a text as a cell that a spreadsheet shows as it is, and takes for no formula; fromCell reads it.
func asCell(text string) string {
	text = unseen.ReplaceAllStringFunc(text, func(found string) string {
		if r, n := utf8.DecodeRuneInString(found); n == len(found) {
			return fmt.Sprintf("{U+%04X}", r)
		}
		return "{U+" + found[2:] // a text that looks like one of these gets one more +
	})
	if strings.ContainsAny(text, ";\t\r\n") {
		text = innerFormula.ReplaceAllString(text, "$1'$2")
	}
	if risky(text) {
		return "'" + text
	}
	return text
}

// fromCell reads what asCell made.
func fromCell(text string) string {
	if plain, ok := strings.CutPrefix(text, "'"); ok && risky(plain) {
		text = plain
	}
	if strings.ContainsAny(text, ";\t\r\n") {
		text = innerQuoted.ReplaceAllString(text, "$1$2")
	}
	if !strings.Contains(text, "{U+") {
		return text
	}
	return unseenText.ReplaceAllStringFunc(text, func(found string) string {
		if found[3] == '+' {
			return "{U" + found[3:]
		}
		n, err := strconv.ParseUint(found[3:len(found)-1], 16, 32)
		if err != nil {
			return found
		}
		return string(rune(n))
	})
}

// Signs that change what is seen of the text around them: those that turn its direction, those without a width, and those of
// control but the ends of lines and tabs. A cell has them by their number, and a carriage return as well, which readers of CSV drop.
const unseenSigns = `\x{0}-\x{8}\x{b}\x{c}\x{e}-\x{1f}\x{7f}-\x{9f}\x{61c}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{2069}\x{feff}\x{ad}\x{180e}\x{e0000}-\x{e007f}`

var (
	unseen     = regexp.MustCompile(`[\r` + unseenSigns + `]|\{U\++[0-9A-F]{4,6}\}`)
	unseenText = regexp.MustCompile(`\{U\++[0-9A-F]{4,6}\}`)
	// A spreadsheet that separates cells by something else than a comma takes a formula within a text for one of its own cells.
	innerFormula = regexp.MustCompile("([;\t\r\n])('*[ \u00a0]*[=+\\-@＝＋－＠])")
	innerQuoted  = regexp.MustCompile("([;\t\r\n])'('*[ \u00a0]*[=+\\-@＝＋－＠])")
)

// risky reports whether a spreadsheet would take a text for more than that.
func risky(text string) bool {
	trimmed := strings.TrimLeft(text, " \u00a0")
	return trimmed != "" && strings.ContainsRune("=+-@\t\r\n'|%＝＋－＠", []rune(trimmed)[0])
}

// fromRow reads what appendRow made.
func fromRow(row []string) (*wire.AuditRecord, error) {
	if len(row) != len(columns) && len(row) != formerColumns {
		return nil, fmt.Errorf("has %d columns, not %d", len(row), len(columns))
	}
	for i, text := range row {
		row[i] = fromCell(text)
	}
	sequence, err := strconv.ParseUint(row[0], 10, 64)
	if err != nil {
		return nil, errors.New("has no sequence in its first column")
	}
	at, err := time.Parse(timeForm, row[2])
	if err != nil {
		return nil, errors.New("has no timestamp in its third column")
	}
	r := &wire.AuditRecord{
		Sequence: sequence, EventID: row[1], Timestamp: at, Category: row[3], Action: row[4], Outcome: row[5],
		Actor:    wire.AuditActor{Type: row[6], ID: row[7], IP: row[8], UserAgent: row[9]},
		Resource: wire.AuditResource{Type: row[10], ID: row[11], Version: row[12]}, Details: []byte(row[13]),
		Request: wire.AuditRequest{Method: row[14], Path: row[15], RequestID: row[16]}, PreviousHash: row[17], Hash: row[18],
	}
	if len(row) > formerColumns && row[formerColumns] != "" {
		r.Redacted = new(wire.AuditRedaction)
		if json.Unmarshal([]byte(row[formerColumns]), r.Redacted) != nil {
			return nil, errors.New("has an unreadable redaction in its last column")
		}
	}
	return r, nil
}

// redactionText is a redaction as a cell.
func redactionText(r *wire.AuditRedaction) string {
	if r == nil {
		return ""
	}
	text, _ := json.Marshal(r) // of texts and a time it does not fail
	return string(text)
}

// severities of CEF by outcome.
var severities = map[string]string{wire.AuditAttempt: "3", wire.AuditSuccess: "3", wire.AuditFailure: "5", wire.AuditDenied: "7"}

var (
	headerEscape    = strings.NewReplacer(`\`, `\\`, `|`, `\|`, "\r", " ", "\n", " ")
	extensionEscape = strings.NewReplacer(`\`, `\\`, `=`, `\=`, "\r", `\r`, "\n", `\n`, "|", `\|`)
)

// visible has signs that change what is seen of a text, or end a line for some readers, by their number.
func visible(text string) string {
	return signs.ReplaceAllStringFunc(text, func(found string) string {
		r, _ := utf8.DecodeRuneInString(found)
		return fmt.Sprintf("{U+%04X}", r)
	})
}

var signs = regexp.MustCompile(`[` + unseenSigns + `]`)

// cef writes a record as an event.
func cef(r *wire.AuditRecord, version string) string {
	var b strings.Builder
	b.WriteString("CEF:0|Wardroom|Wardroom")
	for _, part := range []string{version, r.Action, r.Action + " " + r.Outcome, severities[r.Outcome]} {
		b.WriteString("|" + headerEscape.Replace(visible(part)))
	}
	b.WriteByte('|')
	add := func(name, value string) {
		if value == "" {
			return
		}
		if b.String()[b.Len()-1] != '|' {
			b.WriteByte(' ')
		}
		b.WriteString(name + "=" + extensionEscape.Replace(visible(value)))
	}
	add("rt", strconv.FormatInt(r.Timestamp.UnixMilli(), 10))
	add("externalId", r.EventID)
	add("cat", r.Category)
	add("act", r.Action)
	add("outcome", r.Outcome)
	add("suid", r.Actor.ID)
	add("suser", r.Actor.ID)
	add("spriv", r.Actor.Type)
	add("src", r.Actor.IP)
	add("requestClientApplication", r.Actor.UserAgent)
	add("requestMethod", r.Request.Method)
	add("request", r.Request.Path)
	add("cn1Label", "sequence")
	add("cn1", strconv.FormatUint(r.Sequence, 10))
	for i, extra := range []struct{ label, value string }{
		{"resourceType", r.Resource.Type}, {"resourceId", r.Resource.ID}, {"resourceVersion", r.Resource.Version},
		{"requestId", r.Request.RequestID}, {"details", string(r.Details)}, {"hash", r.Hash},
	} {
		if extra.value != "" {
			n := strconv.Itoa(i + 1)
			add("cs"+n+"Label", extra.label)
			add("cs"+n, extra.value)
		}
	}
	return b.String()
}

// maxLine bounds a line that is read, in bytes.
const maxLine = 4 << 20

// VerifyFile goes over an export in JSON or CSV, or the file of a sink, and tells the verifier of each record.
func VerifyFile(r io.Reader, v *Verifier) error {
	in := bufio.NewReaderSize(r, 256<<10)
	begin, _ := in.Peek(len(columns[0]) + 1)
	switch {
	case bytes.HasPrefix(begin, []byte("CEF:")):
		return errors.New("an export in CEF holds no hashes that could be verified; export it as json or csv")
	case string(begin) == columns[0]+",":
		return verifyCSV(in, v)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	ended := true
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, atEOF)
		ended = n == 0 || data[n-1] == '\n'
		return n, line, err
	})
	for lines.Scan() {
		if ended {
			v.Add(lines.Bytes())
		} else {
			v.addOpen(lines.Bytes())
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		v.Unreadable("is longer than any record")
	} else if err != nil {
		return err
	}
	return nil
}

func verifyCSV(in io.Reader, v *Verifier) error {
	rows := csv.NewReader(in)
	rows.ReuseRecord, rows.FieldsPerRecord = true, -1
	for first := true; ; first = false {
		row, err := rows.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &wrong):
			v.Unreadable("is no row of CSV")
			return nil // what comes next cannot be told from what is in quotes
		case err != nil:
			return err
		case first:
			continue
		}
		r, err := fromRow(row)
		if err != nil {
			v.Unreadable(err.Error())
			continue
		}
		v.AddRecord(r)
	}
}
