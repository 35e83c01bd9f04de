package webhook

import (
	"maps"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/credential"
)

// reserved are the headers that requests have anyway, or that say how they travel.
var reserved = map[string]string{
	"Connection": hop, "Keep-Alive": hop, "Proxy-Authenticate": hop, "Proxy-Authorization": hop, "Proxy-Connection": hop,
	"Te": hop, "Trailer": hop, "Transfer-Encoding": hop, "Upgrade": hop, "Http2-Settings": hop, "Expect": hop,
	"Host": "is made from the url", "Content-Length": "is made from the body", "Content-Type": "is application/json",
	"Content-Encoding": "is not used: the body is plain JSON",
}

const hop = "is about the connection, not the request"

// hidden finds names of headers whose values are credentials, whatever they look like.
var hidden = regexp.MustCompile(`(?i)auth|token|secret|key|pass|credential|cookie|signature|session|bearer`)

// opaque matches values that look like a credential or an id.
var opaque = regexp.MustCompile(`^[A-Za-z0-9+/=_.~-]{20,}$`)

// isHidden reports whether a header must not be shown with its value: it stands in the configuration, or may be a credential,
// and is no reference to one.
func isHidden(name, value string, declared bool) bool {
	_, refers := core.RequestedSecretRef(value)
	if declared {
		_, ok, err := core.ParseSecretRef(value)
		refers = ok && err == nil
	}
	switch {
	case value == "" || refers:
		return false
	case declared || hidden.MatchString(name) || credential.Named(name) || credential.Mask(value) != value:
		return true
	}
	return opaque.MatchString(value) && strings.ContainsAny(value, "0123456789")
}

// shownHeaders returns the headers of an endpoint with core.MaskedHeader in the place of what may be a credential.
func shownHeaders(w *core.Webhook) map[string]string {
	shown := maps.Clone(w.Headers)
	for name, value := range shown {
		if isHidden(name, value, w.Declared) {
			shown[name] = core.MaskedHeader
		}
	}
	return shown
}

// keepHidden puts the values that an endpoint has in the place of core.MaskedHeader: whoever read the headers and sends
// them back changes nothing. nil keeps all. The names of those that are kept unseen are in kept.
func keepHidden(headers, have map[string]string) (next map[string]string, kept []string) {
	if headers == nil {
		headers = shownHeaders(&core.Webhook{Headers: have})
	}
	next = maps.Clone(headers)
	for name, value := range next {
		if was, ok := have[name]; ok && value == core.MaskedHeader {
			next[name], kept = was, append(kept, name)
		}
	}
	slices.Sort(kept)
	return next, kept
}

// sameServer reports whether two urls, of which the first was checked, lead to the same one.
func sameServer(a, b string) bool {
	one, err := url.Parse(a)
	if err != nil {
		return false
	}
	other, err := url.Parse(b)
	return err == nil && strings.EqualFold(one.Scheme, other.Scheme) && strings.EqualFold(one.Host, other.Host)
}

// withoutHidden returns a text without the credentials that a request had, which a receiver may send back.
func withoutHidden(text string, given, sent map[string]string, secrets []string, declared bool) string {
	for name, value := range sent {
		if value != given[name] || isHidden(name, value, declared) { // the first: a reference was resolved
			text = hide(text, value)
			if _, bare, found := strings.Cut(value, " "); found { // behind its scheme
				text = hide(text, bare)
			}
		}
	}
	for _, secret := range secrets {
		text = hide(text, secret)
	}
	return text
}

func hide(text, secret string) string {
	if len(secret) < minHidden {
		return text
	}
	return strings.ReplaceAll(text, secret, core.MaskedHeader)
}

// checkHeaders checks the headers that an endpoint adds to its requests.
func checkHeaders(p *problems, headers map[string]string) {
	if len(headers) > maxHeaders {
		p.add("headers", "must not have more than %d entries", maxHeaders)
	}
	names := slices.Sorted(maps.Keys(headers))
	seen := make(map[string]bool, len(names))
	size := 0
	for _, name := range names {
		path, value := "headers."+clip.Text(name, maxFilterText), headers[name]
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		size += len(name) + len(value)
		switch why := reserved[canonical]; {
		case !httpguts.ValidHeaderFieldName(name):
			p.add(path, "is not the name of a header")
		case why != "":
			p.add(path, "cannot be set: it %s", why)
		case strings.HasPrefix(strings.ToUpper(name), strings.ToUpper(ownPrefix)):
			p.add(path, "cannot be set: headers that begin with %s are the service's own", ownPrefix)
		case seen[canonical]:
			p.add(path, "stands there twice, in different cases")
		case value == core.MaskedHeader:
			p.add(path, "is what hides a value that may be a credential: leave it out, or give the value; a change keeps one that is there")
		case !httpguts.ValidHeaderFieldValue(value):
			p.add(path, "has a value with line breaks or other control characters")
		}
		seen[canonical] = true
	}
	if size > maxHeaderBytes {
		p.add("headers", "must not be longer than %d bytes together", maxHeaderBytes)
	}
}
