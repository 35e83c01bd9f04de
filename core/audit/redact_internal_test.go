package audit

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestReplaceWord(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ann": "P", "channel": "channel", "ann,ann": "P,P", "x ann.": "x P.", "annann": "annann", "an": "an", "/keys/ann": "/keys/P", "ännann ann": "ännann P", "„ann“": "„P“", "annä": "annä", "ann\u0301": "ann\u0301",
	} {
		if got := replaceWord(text, "ann", "P"); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// In scripts without spaces a name has no word to be within; in those with spaces it has.
func TestReplaceWordOfScripts(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"田中太郎", "承認者は田中太郎さんです", "承認者はPさんです"},
		{"田中太郎", "田中太郎san、田中太郎2", "Psan、P2"},
		{"たろう", "これはたろうが書いた", "これはPが書いた"},
		{"アンナ", "アンナーが", "Pーが"},
		{"王小明", "由王小明批准，王小明", "由P批准，P"},
		{"สมชาย", "คุณสมชายอนุมัติแล้ว", "คุณPอนุมัติแล้ว"},
		{"กน", "กน้ำ กน", "กน้ำ P"}, // a mark makes it another syllable
		{"ann", "由ann批准 channel anna", "由P批准 channel anna"},
		{"анна", "анна, жанна, аннады", "P, жанна, аннады"},
		{"آن", "آن قرآن", "P قرآن"},
		{"दीप", "दीप दीपक", "P दीपक"},
		{"민수", "민수, 김민수", "P, 김민수"},
		{"αννα", "αννα ιωαννα", "P ιωαννα"},
		{"Ann", "Ann's, Annä, ÄAnn", "P's, Annä, ÄAnn"},
		{"exec", "exec_01JZX7Q3V5Y8W9A2B4C6D8E0FG by exec, exec_1", "exec_01JZX7Q3V5Y8W9A2B4C6D8E0FG by P, P_1"}, // what an id begins with is no name
		{"ann", "ann_01JZX7Q3V5Y8W9A2B4C6D8E0FG", "P_01JZX7Q3V5Y8W9A2B4C6D8E0FG"},
		{"ann田", "由ann田批准 hann田", "由P批准 hann田"},
	} {
		if got := replaceWord(test.text, test.name, "P"); got != test.want {
			t.Errorf("%s in %q: %q, want %q", test.name, test.text, got, test.want)
		}
	}
}

// A subject is found in whatever way the texts of a record escape its name.
func TestRedactsEscapedNames(t *testing.T) {
	clock := coretest.NewClock()
	s := New(Options{Clock: clock, IDs: core.NewIDs(clock), Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))})
	for _, subject := range []string{"ann", `o"neil`, "R&D <x@y>", `back\slash`, "mül ler", "田中太郎", "สมชาย", "☃", "\u2028", `"`} {
		e := &core.ErasureRecord{Subject: subject, Erasure: core.Erasure{ID: "ers_1", Pseudonym: "erased-1"}}
		asJSON := func(v any) string {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		ascii := ""
		for _, unit := range utf16.Encode([]rune(subject)) {
			ascii += fmt.Sprintf(`\u%04x`, unit)
		}
		for name, change := range map[string]func(r *wire.AuditRecord, details map[string]any){
			"Body": func(_ *wire.AuditRecord, d map[string]any) {
				d["body"] = asJSON(map[string]any{"owner": subject, "text": "hers"})
			},
			"BodyOfBody": func(_ *wire.AuditRecord, d map[string]any) { d["body"] = asJSON([]any{asJSON([]any{"hers", subject})}) },
			"BodyCut": func(_ *wire.AuditRecord, d map[string]any) {
				d["body"] = asJSON([]any{subject, "hers"})[:len(asJSON(subject))+4] + `"hers...`
			},
			"BodyASCII": func(_ *wire.AuditRecord, d map[string]any) { d["body"] = `{"owner":"` + ascii + `","text":"hers` },
			"Detail":    func(_ *wire.AuditRecord, d map[string]any) { d["reason"] = "of " + asJSON(subject) + " it is" },
			"Member":    func(_ *wire.AuditRecord, d map[string]any) { d["of"] = map[string]any{subject: 1} },
			"Path": func(r *wire.AuditRecord, _ map[string]any) {
				r.Request.Path = "/api/agents/" + url.PathEscape(subject) + "/x"
			},
			"Resource": func(r *wire.AuditRecord, _ map[string]any) { r.Resource.ID = subject },
		} {
			t.Run(name+"/"+ascii, func(t *testing.T) {
				r := &wire.AuditRecord{
					Sequence: 1, EventID: "aud_1", Category: wire.AuditAdmin, Action: "keys.create", Outcome: wire.AuditSuccess, Actor: wire.AuditActor{Type: "user", ID: "bob"},
				}
				details := map[string]any{"inputSize": 3}
				change(r, details)
				r.Details = trail.AppendDetails(nil, details)
				line, _ := trail.AppendSealed(nil, r, trail.Hash{})
				got, err := s.Redact(core.AuditRow{Sequence: 1, Record: line}, e, func(string) bool { return false })
				if err != nil || got == nil {
					t.Fatalf("%s became %s, %v", line, got, err)
				}
				left, err := trail.Parse(got)
				if err != nil {
					t.Fatal(err)
				}
				whole := left.Resource.ID + left.Request.Path + string(left.Details)
				if strings.HasPrefix(name, "Body") != !strings.Contains(whole, "erased-1") || strings.Contains(whole, "hers") || !strings.Contains(whole, `"inputSize":3`) {
					t.Errorf("%s became %s", line, got)
				}
				if again, err := s.Redact(core.AuditRow{Sequence: 1, Record: got}, e, func(string) bool { return false }); again != nil || err != nil {
					t.Errorf("%s still names it: %s, %v", got, again, err)
				}
			})
		}
	}
}

func TestRedact(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	clock := coretest.NewClock()
	s := New(Options{Clock: clock, IDs: core.NewIDs(clock), Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))})
	e := &core.ErasureRecord{Subject: "ann", Erasure: core.Erasure{ID: "ers_1", Pseudonym: "erased-1"}}
	marked := func(id string) bool { return id == "exec_1" }
	record := func(change func(r *wire.AuditRecord)) core.AuditRow {
		r := &wire.AuditRecord{
			Sequence: 1, EventID: "aud_1", Timestamp: now, Category: wire.AuditExecutions, Action: "executions.create", Outcome: wire.AuditSuccess,
			Actor: wire.AuditActor{Type: "user", ID: "bob", IP: "10.0.0.1"}, Resource: wire.AuditResource{Type: "executions", ID: "exec_2"},
			Details: trail.AppendDetails(nil, map[string]any{"body": "text", "inputSize": 3}),
		}
		change(r)
		line, _ := trail.AppendSealed(nil, r, trail.Hash{})
		return core.AuditRow{Sequence: 1, Record: line}
	}
	for name, tt := range map[string]struct {
		row       core.AuditRow
		has, gone []string // both empty: it stays
	}{
		"OfOthers":     {row: record(func(*wire.AuditRecord) {})},
		"OfTheSubject": {record(func(r *wire.AuditRecord) { r.Actor.ID = "ann" }), []string{`"erased-1"`, `"inputSize":3`}, []string{`"ann"`, "10.0.0.1", "text"}},
		"AboutErased":  {record(func(r *wire.AuditRecord) { r.Resource.ID = "exec_1" }), []string{`"bob"`, "10.0.0.1"}, []string{"body"}},
		"NamesIt": {record(func(r *wire.AuditRecord) {
			r.Details = trail.AppendDetails(nil, map[string]any{"owner": "ann", "n": "channel"})
		}), []string{"channel", "erased-1"}, []string{`"ann"`}},
		"MadeForIt": {record(func(r *wire.AuditRecord) {
			r.Details = trail.AppendDetails(nil, map[string]any{"body": `{"metadata":{"subject":"ann"},"text":"hers"}`, "inputSize": 3})
		}), []string{`"bob"`, `"inputSize":3`}, []string{`ann`, "hers", "body"}},
		"ReadTheTrail": {record(func(r *wire.AuditRecord) {
			r.Action, r.Actor.ID, r.Resource = "audit.read", "ann", wire.AuditResource{Type: "audit"}
		}), []string{`"erased-1"`}, []string{`"ann"`, "10.0.0.1"}},
		"OfTheTrail": {row: record(func(r *wire.AuditRecord) { r.Action = trail.ActionTrim; r.Actor.ID = "ann" })},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Redact(tt.row, e, marked)
			if err != nil || (got == nil) != (len(tt.has)+len(tt.gone) == 0) {
				t.Fatalf("%s, %v", got, err)
			}
			if got == nil {
				return
			}
			for _, part := range tt.has {
				if !strings.Contains(string(got), part) {
					t.Errorf("lacks %s: %s", part, got)
				}
			}
			for _, part := range tt.gone {
				if strings.Contains(string(got), part) {
					t.Errorf("still has %s: %s", part, got)
				}
			}
			v := new(trail.Verifier)
			v.Add(got)
			if r := v.Report(); !r.OK || r.Redacted != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}
