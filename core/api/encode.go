package api

import (
	"bytes"
	"reflect"
	"time"

	"github.com/wardroom/wardroom/core/internal/encode"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

var timeType = reflect.TypeFor[time.Time]()

// encodeBody writes a body as JSON.
//
// The public types of sdk/wire are stored as well as answered; encode.Answered says in what answers differ.
func encodeBody(buf *bytes.Buffer, body any) {
	// What is stored as JSON passes the encoder as it is, with what was escaped when it was stored.
	buf.Write(rawjson.Plain(appendValue(buf.AvailableBuffer(), body)))
}

// appendValue appends a part of an otherwise hand-encoded body as encodeBody has it.
func appendValue(b []byte, v any) []byte {
	b, err := encode.Answered.Append(b, v)
	if err != nil {
		panic(err) // bodies are our own types; the recovery of serve makes it a 500
	}
	return b
}
