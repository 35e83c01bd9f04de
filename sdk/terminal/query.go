package terminal

import (
	"net/url"
	"strconv"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// maxTail bounds the scrollback that a viewer asks for, in lines.
const maxTail = 100_000

// ParseQuery reads the parameters of a terminal's address. INVALID_ARGUMENT names the one that is wrong;
// parameters that it does not know are left to others.
func ParseQuery(q url.Values) (runtime.AttachOptions, error) {
	var o runtime.AttachOptions
	if text := q.Get("offset"); text != "" {
		offset, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return o, invalid("offset", "must be the number of bytes seen, from 0")
		}
		o.From = &offset
	}
	if text := q.Get("readonly"); text != "" {
		readOnly, err := strconv.ParseBool(text)
		if err != nil {
			return o, invalid("readonly", "must be true or false")
		}
		o.ReadOnly = readOnly
	}
	for _, number := range []struct {
		name string
		max  int
		to   *int
	}{{"tail", maxTail, &o.Tail}, {"cols", maxSize, &o.Cols}, {"rows", maxSize, &o.Rows}} {
		text := q.Get(number.name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > number.max {
			return o, invalid(number.name, "must be a number from 0 to "+strconv.Itoa(number.max))
		}
		*number.to = n
	}
	return o, nil
}

// query is the reverse of ParseQuery.
func query(o runtime.AttachOptions) url.Values {
	q := url.Values{}
	if o.From != nil {
		q.Set("offset", strconv.FormatUint(*o.From, 10))
	}
	if o.ReadOnly {
		q.Set("readonly", "true")
	}
	for name, n := range map[string]int{"tail": o.Tail, "cols": o.Cols, "rows": o.Rows} {
		if n != 0 {
			q.Set(name, strconv.Itoa(n))
		}
	}
	return q
}

func invalid(field, text string) *runtime.Error {
	return &runtime.Error{Code: runtime.CodeInvalidArgument, Field: field, Message: text}
}
