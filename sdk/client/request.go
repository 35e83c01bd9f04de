package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// Meta comes with each answer.
type Meta struct {
	HTTPStatus    int             `json:"-"`
	RequestID     string          `json:"-"` // names the request in the server's log
	ServerVersion string          `json:"-"`
	ETag          string          `json:"-"` // of what was read, for calls that change it only as long as it is that
	Replayed      bool            `json:"-"` // the first answer to this Idempotency-Key, sent again
	Body          json.RawMessage `json:"-"` // the answer as it came, with fields this client does not know
}

func (m *Meta) setMeta(meta Meta) { *m = meta }

// Raw returns Body, for callers that handle answers of any type.
func (m *Meta) Raw() json.RawMessage { return m.Body }

// answer is an answer type, which embeds Meta.
type answer interface{ setMeta(Meta) }

// NewIdempotencyKey returns a fresh random key for the IdempotencyKey field of a request: the server does
// the work of a key once in 24 hours, however often the request is sent.
func NewIdempotencyKey() string { return "wardroom-" + rand.Text() }

// request is one call of the API.
type request struct {
	method   string
	path     string     // escaped, from the root: /api/patterns/a%2Fb
	query    url.Values // or nil
	body     any        // marshalled as JSON, or nil for none
	key      string     // Idempotency-Key, or empty
	harmless bool       // a second run does no harm, beyond what the method and the key say
	removes  bool       // what the path names is gone after it: a repeat that does not find it has done what it is for
	accept   string     // empty: application/json
	header   http.Header
}

func (r request) repeatable() bool {
	if r.header.Get("If-Match") != "" {
		return false // what an answer that was lost had changed is not what the tag names any more
	}
	return r.harmless || r.key != "" || r.method == http.MethodGet || r.method == http.MethodPut ||
		r.method == http.MethodDelete
}

// segment escapes one path segment. Dots alone would be taken for a walk through the path by proxies.
func segment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}

// do sends r, repeats it as the policy says, and decodes the answer into out (may be nil).
func (c *Client) do(ctx context.Context, r request, out answer) error {
	body, err := encode(r.body)
	if err != nil {
		return err
	}
	removed := false // maybe: a try before this one may have been worked on
	return c.retry(ctx, r.repeatable(), func() (err error) {
		defer func() {
			if removed && notFound(err) {
				err = nil
			}
			removed = removed || r.removes && unsure(err)
		}()
		resp, err := c.send(ctx, r, body)
		if err != nil {
			return err
		}
		data, err := c.read(ctx, resp)
		if err != nil {
			return err
		}
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			return newError(resp, data)
		}
		return decode(resp, data, out)
	})
}

// ask sends r as do does, and returns the answer.
func ask[T any, P interface {
	*T
	answer
}](ctx context.Context, c *Client, r request) (*T, error) {
	out := new(T)
	return result(out, c.do(ctx, r, P(out)))
}

// get returns what lies under a path.
func get[T any, P interface {
	*T
	answer
}](ctx context.Context, c *Client, path string) (*T, error) {
	return ask[T, P](ctx, c, request{method: http.MethodGet, path: path})
}

// remove removes what lies under a path.
func (c *Client) remove(ctx context.Context, path string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: path, removes: true}, nil)
}

// result drops a half-filled answer when the call failed.
func result[T any](out *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}

// send sends r once and returns the answer with its body open.
func (c *Client) send(ctx context.Context, r request, body []byte) (*http.Response, error) {
	target := c.base.String() + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, reader)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	maps.Copy(req.Header, r.header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", cmp.Or(r.accept, "application/json"))
	req.Header.Set("User-Agent", c.opts.UserAgent)
	if c.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
		// The header also lets net/http repeat the request on a connection that died while idle.
	}
	resp, err := c.opts.HTTPClient.Do(req)
	if err != nil {
		return nil, c.connectionError(ctx, err)
	}
	return resp, nil
}

// open sends r once and returns the body of the answer, which the caller closes.
func (c *Client) open(ctx context.Context, r request) (io.ReadCloser, error) {
	body, err := encode(r.body)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(ctx, r, body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		if err := noPage(resp); err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
		return resp.Body, nil
	}
	data, err := c.read(ctx, resp)
	if err != nil {
		return nil, err
	}
	return nil, newError(resp, data)
}

// read reads and closes the body.
func (c *Client) read(ctx context.Context, resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, c.opts.MaxResponse+1))
	if err != nil {
		return nil, c.connectionError(ctx, err)
	}
	if int64(len(data)) > c.opts.MaxResponse {
		return nil, fmt.Errorf("the answer is larger than %d bytes", c.opts.MaxResponse)
	}
	return data, nil
}

func encode(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return data, nil
}

// noPage refuses a page for people: nothing of the API is one, and a network's sign-in answers any request with it.
func noPage(resp *http.Response) error {
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/html" {
		return fmt.Errorf("the server's answer to %s %s is a page for a browser; is this a Wardroom server?", resp.Request.Method, resp.Request.URL.Path)
	}
	return nil
}

// errNoObject is an answer of nothing, or of null, where there has to be an object.
var errNoObject = errors.New("it is no JSON object")

func decode(resp *http.Response, data []byte, out answer) error {
	if err := noPage(resp); err != nil || out == nil {
		return err
	}
	err := errNoObject
	if text := bytes.TrimSpace(data); len(text) > 0 && string(text) != "null" {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return fmt.Errorf("the server's answer to %s %s is not what it should be: %w",
			resp.Request.Method, resp.Request.URL.Path, err)
	}
	out.setMeta(Meta{
		HTTPStatus:    resp.StatusCode,
		RequestID:     resp.Header.Get("X-Request-Id"),
		ETag:          resp.Header.Get("ETag"),
		ServerVersion: resp.Header.Get("X-Service-Version"),
		Replayed:      resp.Header.Get("Idempotent-Replayed") == "true",
		Body:          data,
	})
	return nil
}

// unwrapURLError drops the method and address that net/http puts before each error; ConnectionError names
// the server already.
func unwrapURLError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
