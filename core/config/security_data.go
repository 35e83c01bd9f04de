package config

import (
	"errors"
	"fmt"
	"mime"
	"slices"

	"github.com/wardroom/wardroom/core/internal/maskpath"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// DataProtection is how what is shown is protected from reading.
type DataProtection struct {
	// Fields that are not shown in clear.
	Masking Masking `json:"masking"`
}

// Masking is which fields are not shown in clear: in audit records, the log, deliveries of webhooks, exports, and in
// answers and streams to callers without the scope data:unmasked. What is stored stays as it is, and agents get their
// tasks in clear.
type Masking struct {
	// Mask fields.
	Enabled bool `json:"enabled"`
	// Paths of fields: names with dots between them, wherever the last one ends, such as input.ssn. * stands for one name or
	// a part of it, ** for any number of names. Elements of lists need no mark. Ids, states and times of answers are never
	// masked.
	Fields []string `json:"fields" check:"is=maskPath,max=256"`
	// What becomes of a value. redact: ***. hash: a keyed hash, so that equal values stay equal. partial: *** and the last
	// four characters, at most a quarter of it.
	Method string `json:"method" default:"redact" enum:"redact,hash,partial"`
}

// InputValidation is what is taken of requests.
type InputValidation struct {
	// Check and clean what comes in, as the keys below say.
	Enabled bool `json:"enabled"`
	// Size of a request body. Beyond it: 413. server.maxBody stays the upper bound.
	MaxSize int64 `json:"maxSize" default:"10MiB" check:"size,min=1KiB"`
	// Media types of request bodies that are taken, of those that a request takes: application/json,
	// application/x-yaml for definitions of patterns. Others get 415. Empty: all of them. Other types, such as text/plain, may be
	// named and change nothing: no request takes them. Forms for signing in are not bodies in this sense.
	AllowedContentTypes []string `json:"allowedContentTypes" check:"is=mediaType,max=32"`
	// What is taken out of texts in inputs of executions, which tell of it (sanitized).
	Sanitize Sanitize `json:"sanitize"`
}

// Sanitize is what is taken out of texts.
type Sanitize struct {
	// Tags and comments of HTML; the text between them stays.
	HTML bool `json:"html"`
	// What could run: elements such as script, iframe and object, attributes such as onclick, and addresses such as
	// javascript:. Other HTML stays as it is.
	Scripts bool `json:"scripts"`
}

func checkMaskPath(text string) error {
	_, err := maskpath.Parse(text)
	return err
}

func checkMediaType(text string) error {
	media, params, err := mime.ParseMediaType(text)
	switch {
	case err != nil || media != text:
		return fmt.Errorf("%q is not a media type such as application/json", schema.Clip(text))
	case len(params) > 0:
		return errors.New("must have no parameters")
	}
	return nil
}

// data reports what contradicts itself in both sections.
func (r *ruling) data(s *Security) {
	if m := &s.DataProtection.Masking; m.Enabled && len(m.Fields) == 0 {
		r.refuse("security.dataProtection.masking", "fields", "is empty: name the fields to mask, such as input.*.email")
	}
	if v := &s.InputValidation; v.Enabled && len(v.AllowedContentTypes) > 0 && !slices.Contains(v.AllowedContentTypes, "application/json") {
		r.refuse("security.inputValidation", "allowedContentTypes", "must hold application/json: nearly every request has a body of it")
	}
}

// SanitizesHTML reports whether tags are taken out of texts.
func (v *InputValidation) SanitizesHTML() bool { return v.Enabled && v.Sanitize.HTML }

// SanitizesScripts reports whether what could run is taken out of texts.
func (v *InputValidation) SanitizesScripts() bool { return v.Enabled && v.Sanitize.Scripts }
