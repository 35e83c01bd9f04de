package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
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

// maxMasked bounds a text in which secrets are looked for, in bytes. What is behind would be cut off anyway.
const maxMasked = 16 * maxText

// maskBody masks a body, by the names of its members if it is JSON, and cuts it.
func maskBody(text []byte) string {
	if masked, ok := maskJSON(text); ok {
		return clip.Marked(masked, maxText, "...")
	}
	return clip.Marked(maskText(strings.ToValidUTF8(string(text[:min(len(text), maxMasked)]), "\uFFFD")), maxText, "...")
}

// maskText masks a text by its form.
func maskText(text string) string { return credential.Mask(clip.Text(text, maxMasked)) }

// maskJSON masks an object or an array of JSON, with its numbers as they were written, as much of it as a record keeps and a little
// more. What is behind a fault is left out, since it is not known what names it stands under. It returns false for what is no JSON.
func maskJSON(text []byte) (string, bool) {
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return "", false
	}
	m := jsonMask{in: json.NewDecoder(bytes.NewReader(text))}
	m.in.UseNumber()
	whole := m.value()
	if whole && !m.full() {
		_, err := m.in.Token()
		whole = errors.Is(err, io.EOF)
	}
	if !whole {
		return string(m.out) + "...", m.named
	}
	return string(m.out), true
}

// jsonMask reads a value and writes it without its secrets.
type jsonMask struct {
	in    *json.Decoder
	out   []byte
	named bool // a member has been read, as few texts have that are no JSON
}

// full reports whether more would be cut off.
func (m *jsonMask) full() bool { return len(m.out) > maxText }

// value goes over the next value, or as much of it as is kept. It returns false for what is no JSON.
func (m *jsonMask) value() bool {
	token, err := m.in.Token()
	if err != nil {
		return false
	}
	switch token := token.(type) {
	case json.Delim:
		return m.members(token)
	case string:
		m.out = rawjson.AppendString(m.out, maskText(token))
	case json.Number:
		m.out = append(m.out, token...)
	case bool:
		m.out = strconv.AppendBool(m.out, token)
	default:
		m.out = append(m.out, "null"...)
	}
	return true
}

// members goes over what is in an object or an array. It does not nest deeper than what is kept is long.
func (m *jsonMask) members(open json.Delim) bool {
	m.out = append(m.out, open.String()...)
	for n := 0; m.in.More(); n++ {
		if m.full() {
			return true
		}
		if n > 0 {
			m.out = append(m.out, ',')
		}
		if open == '{' {
			token, err := m.in.Token()
			name, ok := token.(string)
			if err != nil || !ok {
				return false
			}
			m.out, m.named = append(rawjson.AppendString(m.out, maskText(name)), ':'), true
			if credential.Named(name) {
				m.out = append(m.out, `"`+credential.Masked+`"`...)
				if !m.skip() {
					return false
				}
				continue
			}
		}
		if !m.value() {
			return false
		}
	}
	if m.full() {
		return true
	}
	end, err := m.in.Token()
	if err != nil {
		return false
	}
	m.out = append(m.out, end.(json.Delim).String()...)
	return true
}

// skip goes over a value that is not shown.
func (m *jsonMask) skip() bool {
	for depth := 0; ; {
		token, err := m.in.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth <= 0 {
			return true
		}
	}
}
