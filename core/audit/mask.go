package audit

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/credential"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maxText bounds a text in a record of the level verbose, in bytes.
const maxText = 8 << 10

// Text implements core.AuditService.
func (s *Service) Text(text []byte) string {
	if c := s.config.Load(); !c.Enabled || c.Level < Verbose {
		return ""
	}
	text = text[rawjson.SkipSpace(text, 0):] // that of JSON is none of its values
	if s.opts.Mask.Active() && len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		text = s.opts.Mask.Mask(text)
	}
	return maskBody(text)
}

// maskRecord masks the fields of a record that paths name. Details that a record needs to be found by stay as every frame
// does; the form of details is canonical before and after.
func (s *Service) maskRecord(r *wire.AuditRecord) {
	m := s.opts.Mask
	r.Actor.IP = m.MaskText("actor.ip", r.Actor.IP)
	r.Actor.UserAgent = m.MaskText("actor.userAgent", r.Actor.UserAgent)
	if len(r.Details) == 0 {
		return
	}
	around := append(append([]byte(`{"details":`), r.Details...), '}')
	masked := m.Mask(around)
	if bytes.Equal(masked, around) {
		return
	}
	details, _ := rawjson.Field(masked, "details")
	canonical, err := trail.Canonical(details)
	if err != nil { // rather none than those in clear
		canonical = nil
	}
	r.Details = canonical
}

// noMask masks nothing.
type noMask struct{}

func (noMask) Active() bool                   { return false }
func (noMask) Mask(raw []byte) []byte         { return raw }
func (noMask) Masks(...string) bool           { return false }
func (noMask) MaskText(_, text string) string { return text }

// maskBody masks a body, by the names of its members if it is JSON, and cuts it.
func maskBody(text []byte) string {
	if len(text) > 16*maxText { // the rest would be cut off anyway, and a cut JSON would not be known as one
		return clip.Marked(credential.Mask(strings.ToValidUTF8(string(text[:16*maxText]), "\uFFFD")), maxText, "...")
	}
	if v, ok := decodeBody(text); ok {
		if plain, err := json.Marshal(maskValue(v)); err == nil {
			return clip.Marked(string(plain), maxText, "...")
		}
	}
	return clip.Marked(credential.Mask(strings.ToValidUTF8(string(text), "\uFFFD")), maxText, "...")
}

// decodeBody decodes a body that is an object or an array of JSON, with its numbers as they were written; false if it is none.
func decodeBody(text []byte) (v any, ok bool) {
	if len(text) == 0 || text[0] != '{' && text[0] != '[' || rawjson.Decode(text, &v) != nil {
		return nil, false
	}
	return v, true
}

// maskValue masks a value of JSON in place.
func maskValue(v any) any {
	switch v := v.(type) {
	case string:
		return credential.Mask(v)
	case []any:
		for i := range v {
			v[i] = maskValue(v[i])
		}
	case map[string]any:
		for name, value := range v {
			if credential.Named(name) {
				v[name] = credential.Masked
			} else {
				v[name] = maskValue(value)
			}
		}
	}
	return v
}
