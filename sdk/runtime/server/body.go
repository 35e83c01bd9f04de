package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const bodyTimeout = 30 * time.Second

// read decodes the body of a request. An empty one leaves value as it is.
func (s *Server) read(w http.ResponseWriter, r *http.Request, value any) error {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			return &httpError{http.StatusUnsupportedMediaType, codeValidation, &runtime.Error{
				Code: runtime.CodeInvalidArgument, Field: "Content-Type", Message: "must be application/json",
			}}
		}
	}
	// A body that trickles in holds the connection no longer than this; the call itself may take its time.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.o.MaxBody))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return &httpError{http.StatusRequestEntityTooLarge, codeValidation, badBody("", fmt.Sprintf("is larger than %d bytes", s.o.MaxBody))}
		}
		return &httpError{http.StatusRequestTimeout, "TIMEOUT", runtime.Errorf(runtime.CodeTimeout, "the body did not come in time")}
	}
	_ = control.SetReadDeadline(time.Time{})
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	return decode(data, value)
}

// decode is strict: what it does not know is an error that names it.
func decode(data []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(value); err != nil {
		return decodeError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badBody("", "holds more than one JSON value")
	}
	return nil
}

func decodeError(err error) error {
	var (
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &syntax):
		return badBody("", fmt.Sprintf("is not JSON: byte %d is wrong", syntax.Offset))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return badBody("", "is not JSON: it ends too early")
	case errors.As(err, &kind) && kind.Field == "":
		return badBody("", "must be a JSON object")
	case errors.As(err, &kind):
		return badBody(fieldPath(kind.Field), fmt.Sprintf("is %s and must be %s", given(kind.Value), want(kind)))
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if name, ok := strings.CutPrefix(text, "unknown field "); ok {
		return badBody(strings.Trim(name, `"`), "is not a known field")
	}
	return badBody("", text)
}

// fieldPath drops the names of embedded structs, which no body has: they alone begin with a capital letter.
func fieldPath(path string) string {
	parts := strings.Split(path, ".")
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part != "" && unicode.IsUpper(rune(part[0])) }), ".")
}

// given names what a body has instead.
func given(value string) string {
	kind, _, _ := strings.Cut(value, " ") // "number 1.5" tells the number too
	switch kind {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	default:
		return "a " + kind
	}
}

// want names a Go type in words of JSON.
func want(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); {
	case kind == "string":
		return "a string"
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "slice":
		return "a list"
	default:
		return "an object"
	}
}

// badBody is the error of a field, or of the whole body.
func badBody(field, text string) *runtime.Error {
	field = cmp.Or(field, "body")
	return &runtime.Error{Code: runtime.CodeInvalidArgument, Field: field, Message: text}
}
