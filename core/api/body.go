package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/sanitize"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// readBody reads the request's body, checks its size and type, and leaves decoding to the handler. The
// buffer is not pooled: raw values of it live on in the services.
func (c *call) readBody() error {
	spec := c.route.Body
	if spec == nil {
		if c.r.ContentLength > 0 && c.route.Method != http.MethodGet && c.route.Method != "" {
			return core.Invalid("body", "this operation takes no body")
		}
		return nil
	}
	limit := c.config.MaxBody
	if spec.Limit == "definition" {
		// Room for the JSON around a definition and its escapes; the text itself is measured after.
		limit = min(limit, 2*c.config.MaxDefinition+64<<10)
	}
	if spec.Limit == limitSignIn {
		limit = min(limit, freeBody)
	}
	if spec.Limit == limitHook {
		limit = min(limit, maxHookBody)
		leave, err := c.s.hooks.enter(c.origin)
		if err != nil {
			return err
		}
		defer leave()
	}
	data, err := c.readAll(limit)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		if spec.Optional {
			return nil
		}
		return core.Invalid("body", "is required")
	}
	c.body, c.hasBody = data, true
	return c.checkType(spec)
}

func tooLarge(what string, limit int64) error {
	reason := fmt.Sprintf("must be at most %d bytes", limit)
	return withStatus(http.StatusRequestEntityTooLarge, &core.Error{
		Code: core.CodeValidation, Message: what + ": " + reason,
		Details: map[string]any{"field": what, "reason": reason, "limit": limit},
	})
}

func (c *call) readAll(limit int64) ([]byte, error) {
	length := c.r.ContentLength
	if length > limit {
		return nil, tooLarge("body", limit)
	}
	if length == 0 {
		return nil, nil
	}
	body := newBodyReader(c)
	defer body.held.leave()
	var data []byte
	var err error
	// A stated length is believed up to a megabyte: beyond, memory is taken as bytes arrive.
	if length > 0 && length <= 1<<20 {
		if err = body.held.grow(length); err == nil {
			data = make([]byte, length)
			_, err = io.ReadFull(body, data)
		}
	} else {
		data, err = io.ReadAll(http.MaxBytesReader(c.w, body, limit))
	}
	if err == nil {
		// Taken back, since the server reads on to notice a client that leaves. After a failure it stays: it
		// is what ends the server's own try to read the rest.
		_ = body.control.SetReadDeadline(time.Time{})
	}
	var over *http.MaxBytesError
	var full *core.Error
	switch {
	case errors.As(err, &full):
		c.w.Header()["Connection"] = []string{"close"}
		return nil, full
	case errors.As(err, &over):
		return nil, tooLarge("body", limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.w.Header()["Connection"] = []string{"close"}
		return nil, body.late(c.config)
	case err != nil:
		return nil, core.Invalid("body", "broke off before its end").WithCause(err)
	}
	return data, nil
}

// bodyReader reads a request body under two deadlines: a client that sends nothing must not hold a request for long, and
// one that sends a byte now and then not for ever. Both go by real time, as the network does. What it has read is counted while it is
// read.
type bodyReader struct {
	io.ReadCloser
	control *http.ResponseController
	stall   time.Duration
	until   time.Time // for the whole of it
	next    time.Time // the deadline that is set
	held    heldBody
	bytes   int64 // that were read
}

func newBodyReader(c *call) *bodyReader {
	return &bodyReader{
		ReadCloser: c.r.Body, control: http.NewResponseController(c.w),
		stall: c.config.StallTimeout, until: time.Now().Add(c.config.BodyTimeout),
		held: heldBody{gate: &c.s.bodies, client: c.client(), largest: c.config.MaxBody},
	}
}

// Read implements io.Reader. Its errors are those of bodyGate.take as well.
func (b *bodyReader) Read(p []byte) (int, error) {
	next := time.Now().Add(b.stall)
	if b.until.Before(next) {
		next = b.until
	}
	// What is far enough away stays: setting a deadline costs more than most reads.
	if next.Sub(b.next) > b.stall/16 || next.Equal(b.until) && !b.next.Equal(next) {
		b.next = next
		_ = b.control.SetReadDeadline(next)
	}
	n, err := b.ReadCloser.Read(p)
	b.bytes += int64(n)
	if full := b.held.grow(b.bytes); full != nil {
		return 0, full
	}
	return n, err
}

// late returns the error for a body that missed a deadline.
func (b *bodyReader) late(config *Config) error {
	timeout := config.StallTimeout
	if b.next.Equal(b.until) {
		timeout = config.BodyTimeout
	}
	return &core.Error{
		Code: core.CodeTimeout, Message: "the request body did not arrive in time",
		Details: map[string]any{"timeoutMs": timeout.Milliseconds()},
	}
}

// formType is how browsers send forms.
const formType = "application/x-www-form-urlencoded"

// checkType accepts what the route takes, in UTF-8.
func (c *call) checkType(spec *Body) error {
	given, one := single(c.r.Header, "Content-Type")
	if coding := c.r.Header["Content-Encoding"]; coding != nil {
		return unsupported("Content-Encoding", "must be absent, not "+schema.Clip(strings.Join(coding, ", ")))
	}
	if given == "application/json" && !spec.Form { // nearly every request
		return nil
	}
	accepted := "application/json"
	if spec.Form {
		accepted = formType
	}
	if spec.YAML {
		accepted += " or application/x-yaml"
	}
	refuse := func(format string, args ...any) error {
		return unsupported("Content-Type", fmt.Sprintf(format, args...))
	}
	if given == "" || !one {
		return refuse("must be given once, as %s", accepted)
	}
	media, params, err := mime.ParseMediaType(given)
	if err != nil {
		return refuse("is malformed; %s is expected", accepted)
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return refuse("the charset must be utf-8, not %s", schema.Clip(charset))
	}
	if !spec.Form && !c.config.allows(media) {
		return refuse("must be one of %s, as security.inputValidation.allowedContentTypes says, not %s",
			strings.Join(c.config.AllowedTypes, ", "), schema.Clip(media))
	}
	if media == accepted || media == "application/json" && !spec.Form || spec.YAML && isYAML(media) {
		return nil
	}
	return refuse("must be %s, not %s", accepted, schema.Clip(media))
}

// allows reports whether bodies of a media type are taken at all. The names of YAML stand for each other.
func (c *Config) allows(media string) bool {
	return len(c.AllowedTypes) == 0 || slices.ContainsFunc(c.AllowedTypes, func(allowed string) bool {
		return allowed == media || isYAML(allowed) && isYAML(media)
	})
}

func unsupported(header, reason string) error {
	return withStatus(http.StatusUnsupportedMediaType, &core.Error{
		Code: core.CodeValidation, Message: header + ": " + reason,
		Details: map[string]any{"field": header, "reason": reason},
	})
}

func isYAML(media string) bool {
	return media == "application/x-yaml" || media == "application/yaml" || media == "text/yaml"
}

// yaml reports whether the body is YAML text; the type was checked before.
func (c *call) yaml() bool {
	media, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	return isYAML(media)
}

// decode reads a JSON body; no body leaves into as it is.
func (c *call) decode(into any) error {
	if !c.hasBody {
		return nil
	}
	return schema.DecodeJSON(c.body, into)
}

// source reads a YAML body.
func (c *call) source() (string, error) {
	if int64(len(c.body)) > c.config.MaxDefinition {
		return "", tooLarge("definition", c.config.MaxDefinition)
	}
	if !utf8.Valid(c.body) {
		return "", core.Invalid("definition", "must be valid UTF-8")
	}
	return string(c.body), nil
}

// texts is what takes HTML out of the texts of the request, and tells of which.
func (c *call) texts() *sanitize.Texts {
	return &sanitize.Texts{Options: sanitize.Options{HTML: c.config.SanitizeHTML, Scripts: c.config.SanitizeScripts}}
}
