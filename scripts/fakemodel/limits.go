package fakemodel

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// refusal is a request that is not answered as the program hoped.
type refusal struct {
	status  int
	kind    string
	message string
}

func (e *refusal) Error() string { return e.message }

// body is a decoded request body.
type body struct {
	node
	size int // bytes of its text, after decompression
}

// readBody reads the JSON of a request. The limit holds for the bytes on the wire and for the text in them.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body, error) {
	limit := s.options.MaxBody
	// Not the server's ReadTimeout: it goes on after the body, and would end answers that take longer.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	var reader io.Reader = http.MaxBytesReader(w, r.Body, limit)
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
	case "gzip":
		unzip, err := gzip.NewReader(reader)
		if err != nil {
			return body{}, bodyError(err, limit)
		}
		defer unzip.Close()
		reader = unzip
	case "zstd":
		unzip, err := zstd.NewReader(reader, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(limit)))
		if err != nil {
			return body{}, bodyError(err, limit)
		}
		defer unzip.Close()
		reader = unzip
	default:
		return body{}, &refusal{http.StatusUnsupportedMediaType, "invalid_request_error",
			fmt.Sprintf("Content-Encoding %q is not understood; send gzip, zstd or none", encoding)}
	}
	data, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err != nil {
		return body{}, bodyError(err, limit)
	}
	if int64(len(data)) > limit {
		return body{}, tooLarge(limit)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return body{node: node{map[string]any{}}}, nil
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return body{}, &refusal{http.StatusBadRequest, "invalid_request_error", "the body is not JSON: " + err.Error()}
	}
	return body{node{v}, len(data)}, nil
}

func bodyError(err error, limit int64) error {
	var long *http.MaxBytesError
	if errors.As(err, &long) || errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return tooLarge(limit)
	}
	return &refusal{http.StatusBadRequest, "invalid_request_error", "the body cannot be read: " + err.Error()}
}

func tooLarge(limit int64) error {
	return &refusal{http.StatusRequestEntityTooLarge, "request_too_large", fmt.Sprintf("the body is larger than %d bytes", limit)}
}
