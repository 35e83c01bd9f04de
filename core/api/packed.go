package api

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/gzip"
)

// minPacked is the number of bytes above which an answer is compressed for those that read gzip.
const minPacked = 1 << 10

var (
	gzipCoding  = []string{"gzip"}
	varyByCoder = []string{"Accept-Encoding"}
)

// packers compress. The best speed is the right level: most callers are on the same machine or network.
var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is one of the package's own
	}
	return w
}}

// shape returns the status and body that go out for a whole answer. What is read gets a weak entity tag, and nothing but that if
// the caller has it already (RFC 9110, 13.1.2); a body above minPacked is compressed for those that read gzip, unless it has a
// secret in it: the length of what is compressed tells of what it holds. buf keeps a compressed body until it is written.
func (c *call) shape(a answer, body []byte, buf *bytes.Buffer) (int, []byte) {
	h, status := c.w.Header(), a.status
	if status == http.StatusOK && c.route.read() {
		tag := c.tag(a, body)
		h["Etag"] = []string{tag}
		if matches(c.r.Header["If-None-Match"], tag) {
			return http.StatusNotModified, nil
		}
	}
	if len(body) <= minPacked || c.route.Secret || !packable(a.typ) {
		return status, body
	}
	h["Vary"] = append(h["Vary"], varyByCoder...)
	if !TakesGzip(c.r) {
		return status, body
	}
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(buf)
	if _, err := w.Write(body); err != nil || w.Close() != nil || buf.Len() >= len(body) {
		return status, body
	}
	h["Content-Encoding"] = gzipCoding
	return status, buf.Bytes()
}

// packable reports whether a content type, empty for JSON, is text.
func packable(typ string) bool {
	return typ == "" || strings.HasPrefix(typ, "text/") || strings.HasPrefix(typ, "application/json") ||
		strings.HasPrefix(typ, "application/x-ndjson") || strings.HasPrefix(typ, "application/yaml") || strings.HasPrefix(typ, "image/svg+xml")
}

// tag is the weak entity tag of an answer with a body, which is masked where the caller sees it masked: the same for the same
// bytes, whoever answers. Of an answer with edited it has two parts, W/"EDITED.BODY".
func (c *call) tag(a answer, body []byte) string {
	tag := append(make([]byte, 0, 40), `W/"`...)
	if a.edited != nil {
		part := ok(a.edited).bytesOf()
		if c.masks() { // the tag of what is masked would tell whether a guess is right
			part = c.s.opts.Mask.Mask(part)
		}
		tag = append(strconv.AppendUint(tag, xxhash.Sum64(part), 16), '.')
	}
	tag = strconv.AppendUint(tag, xxhash.Sum64(body), 16)
	return string(append(tag, '"'))
}

// matches reports whether If-None-Match names a tag. Tags are compared weakly, as that header asks for.
func matches(given []string, tag string) bool { return named(given, tag, weakly) }

// matchesEdited reports whether If-Match names a tag: of one with two parts, the first counts.
func matchesEdited(given []string, tag string) bool {
	return named(given, tag, func(tag string) string {
		edited, _, _ := strings.Cut(weakly(tag), ".")
		return strings.Trim(edited, `"`)
	})
}

// named reports whether a header with a list of tags has *, or a tag of which the same counts as of the given one.
func named(given []string, tag string, counts func(tag string) string) bool {
	for _, line := range given {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || counts(one) == counts(tag) {
				return true
			}
		}
	}
	return false
}

func weakly(tag string) string { return strings.TrimPrefix(tag, "W/") }

// TakesGzip reports whether the sender of a request reads gzip. What is said of gzip itself counts before what is said of all.
func TakesGzip(r *http.Request) bool {
	takes := false
	for _, line := range r.Header["Accept-Encoding"] {
		for part := range strings.SplitSeq(line, ",") {
			name, weight, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip":
				return weighs(weight)
			case "*":
				takes = weighs(weight)
			}
		}
	}
	return takes
}

// weighs reports whether the weight of a coding, such as q=0.5, is above nought; none is one.
func weighs(text string) bool {
	text = strings.ToLower(strings.ReplaceAll(text, " ", ""))
	if text == "" {
		return true
	}
	q, err := strconv.ParseFloat(strings.TrimPrefix(text, "q="), 64)
	return err == nil && q > 0
}
