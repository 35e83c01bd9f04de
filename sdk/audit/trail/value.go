package trail

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// AppendDetails appends the canonical text of details.
func AppendDetails(dst []byte, details map[string]any) []byte { return appendValue(dst, details) }

// appendValue appends a value of the kinds that JSON decodes to, and the usual numbers. Others are written as JSON
// has them.
func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case string:
		return AppendText(dst, v)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case json.Number:
		return append(dst, v...)
	case []string:
		dst = append(dst, '[')
		for i, s := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendText(dst, s)
		}
		return append(dst, ']')
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendText(dst, name), ':')
			dst = appendValue(dst, v[name])
		}
		return append(dst, '}')
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return append(dst, "null"...)
	}
	again, err := Canonical(raw)
	if err != nil {
		return append(dst, "null"...)
	}
	return append(dst, again...)
}
