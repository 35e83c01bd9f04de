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
func (c *call) shape(status int, typ string, body []byte, buf *bytes.Buffer) (int, []byte) {
	h := c.w.Header()
	if status == http.StatusOK && c.route.read() {
		tag := entityTag(body)
		h["Etag"] = []string{tag}
		if matches(c.r.Header["If-None-Match"], tag) {
			return http.StatusNotModified, nil
		}
	}
	if len(body) <= minPacked || c.route.Secret || !packable(typ) {
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

// entityTag is the weak entity tag of a body: the same for the same bytes, whoever answers.
func entityTag(body []byte) string {
	tag := strconv.AppendUint(append(make([]byte, 0, 20), `W/"`...), xxhash.Sum64(body), 16)
	return string(append(tag, '"'))
}

// matches reports whether If-None-Match names a tag. Tags are compared weakly, as that header asks for.
func matches(given []string, tag string) bool {
	for _, line := range given {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}

// TakesGzip reports whether the sender of a request reads gzip.
func TakesGzip(r *http.Request) bool {
	for _, line := range r.Header["Accept-Encoding"] {
		for part := range strings.SplitSeq(line, ",") {
			name, weight, weighted := strings.Cut(strings.TrimSpace(part), ";")
			if name = strings.TrimSpace(name); name != "gzip" && name != "*" {
				continue
			}
			if q := strings.ReplaceAll(weight, " ", ""); !weighted || q != "q=0" && !strings.HasPrefix(q, "q=0.000") {
				return true
			}
		}
	}
	return false
}
