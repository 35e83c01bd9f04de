package store

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"

	"github.com/wardroom/wardroom/core"
)

// pageLimit checks a page and returns the number of rows it asks for.
func pageLimit(p core.Page) (int, error) {
	switch {
	case p.Limit < 0 || p.Limit > core.MaxPageLimit:
		return 0, core.Invalid("limit", "must be between 1 and %d", core.MaxPageLimit)
	case p.Offset < 0:
		return 0, core.Invalid("offset", "must not be negative")
	case p.Limit == 0:
		return core.DefaultPageLimit, nil
	}
	return p.Limit, nil
}

// A cursor is the URL-safe base64 of 8 bytes that stand for the filter and the id of the last row. The
// page after it begins below that id, so rows that come or go never shift a page.

func encodeCursor(last string, filter uint64) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(last)), filter)
	return base64.RawURLEncoding.EncodeToString(append(b, last...))
}

// decodeCursor returns the id of the last row. prefix is that of the ids in the list.
func decodeCursor(cursor, prefix string, filter uint64) (last string, err error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) <= 8 || !core.ValidID(prefix, string(b[8:])) {
		return "", core.Invalid("cursor", "is not one that a list returned")
	}
	if binary.BigEndian.Uint64(b) != filter {
		return "", core.Invalid("cursor", "belongs to a list with other filters")
	}
	return string(b[8:]), nil
}

// filterHash stands for the filter in a cursor: a cursor must not be used with another filter.
func filterHash(f core.ExecutionFilter) uint64 {
	h := fnv.New64a()
	var b []byte
	b = appendEscaped(b, f.Pattern)
	b = appendEscaped(b, string(f.Status))
	if !f.Since.IsZero() {
		b = binary.BigEndian.AppendUint64(append(b, 's'), uint64(f.Since.UnixNano()))
	}
	if !f.Until.IsZero() {
		b = binary.BigEndian.AppendUint64(append(b, 'u'), uint64(f.Until.UnixNano()))
	}
	_, _ = h.Write(b) // never fails
	return h.Sum64()
}
