package trail_test

import (
	"crypto/ed25519"
	"encoding/csv"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/wardroom/wardroom/sdk/audit/trail"
)

// hostile are texts that users can put into records, such as the name of a program or a path.
var hostile = []string{
	"=cmd|' /C calc'!A0", "+1+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "|x", "%1", "＝1", "'=1", "''=1", "'",
	"a;=cmd|' /C calc'!A0", "a; +1", "a;'=1", "a;''=1", "a\n=1", "a\r\n=1", "a\t-1", "a\r@x", "x;\u00a0@y", "a,=1", "\"=1\"", "a;＝1",
	"ann\u202etxt.exe", "\u2066ann\u2069", "ann\u200b", "\ufeff=1", "\u200b=1", "\x00=1", "\x1b[31mred\x1b[0m", "a\u0085b", "a\u2028b\u2029c", "\x0b\x0c\x7f",
	"{U+202E}", "{U++202E}", "{{U+202E}", "{U+202E", "{U+zzzz}", "{U+\u202e}", "soft\u00adhyphen", "tag\U000e0041", "{U+E0041}", "plain", "", "田中", "a=b|c\\d\ne", "a\r\nb",
}

// What users can put into records is shown in CSV as it is, is no formula for a spreadsheet whichever way it separates cells, and
// can be verified.
func TestCSVInjection(t *testing.T) {
	k := key(1)
	for _, text := range hostile {
		r := record(1)
		r.Actor.ID, r.Actor.UserAgent, r.Request.Path, r.Resource.ID = text, text, text, text
		r.Details = trail.AppendDetails(nil, map[string]any{text: text})
		line, _ := trail.AppendSealed(nil, r, trail.Hash{})
		out := export(t, [][]byte{line}, trail.FormatCSV)
		v := &trail.Verifier{Keys: []ed25519.PublicKey{public(k)}}
		if err := trail.VerifyFile(strings.NewReader(out), v); err != nil {
			t.Fatal(err)
		}
		if report := v.Report(); !report.OK || report.Records != 1 {
			t.Errorf("%q cannot be verified: %+v", text, report.Findings)
		}
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%q: %d rows, %v", text, len(rows), err)
		}
		for _, cell := range rows[1] {
			for _, part := range regexp.MustCompile(`[;\t\r\n]`).Split(cell, -1) {
				if formula := strings.TrimLeftFunc(part, unicode.IsSpace); formula != "" && strings.ContainsAny(formula[:1], "=+-@") {
					t.Errorf("%q: a spreadsheet takes %q for a formula", text, part)
				}
			}
			if i := strings.IndexFunc(cell, unshown); i >= 0 {
				t.Errorf("%q: the cell %q has a sign that is not seen", text, cell)
			}
		}
	}
}

// unshown reports whether a sign changes what is seen of a text around it.
func unshown(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.IsControl(r) && r != '\n' && r != '\t'
}

// A record is one line of CEF for any reader, with the fields that it has and no others.
func TestCEFOfHostileTexts(t *testing.T) {
	for _, text := range hostile {
		r := record(1)
		r.Action = "a" + text
		r.Actor.ID, r.Actor.UserAgent, r.Request.Path, r.Resource.ID = text, text, text, text
		line, _ := trail.AppendSealed(nil, r, trail.Hash{})
		out := export(t, [][]byte{line}, trail.FormatCEF)
		if strings.Count(out, "\n") != 1 || strings.IndexFunc(strings.TrimSuffix(out, "\n"), func(r rune) bool { return unshown(r) || r == '\n' }) >= 0 {
			t.Errorf("%q: %q", text, out)
		}
		header := regexp.MustCompile(`(?:[^\\|]|\\.)*\|`).FindAllString(out, 7)
		if len(header) != 7 || header[6] != "3|" {
			t.Errorf("%q: the header is %q", text, header)
			continue
		}
		fields := regexp.MustCompile(`(?:^| )([A-Za-z0-9]+)=`).FindAllStringSubmatch(out[len(strings.Join(header, "")):], -1)
		seen := map[string]int{}
		for _, f := range fields {
			if seen[f[1]]++; seen[f[1]] > 1 {
				t.Errorf("%q: the field %s is there twice: %q", text, f[1], out)
			}
		}
	}
}
