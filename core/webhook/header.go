package webhook

import (
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/wardroom/wardroom/core/internal/clip"
)

// reserved are the headers that requests have anyway, or that say how they travel.
var reserved = map[string]string{
	"Connection": hop, "Keep-Alive": hop, "Proxy-Authenticate": hop, "Proxy-Authorization": hop, "Proxy-Connection": hop,
	"Te": hop, "Trailer": hop, "Transfer-Encoding": hop, "Upgrade": hop, "Http2-Settings": hop, "Expect": hop,
	"Host": "is made from the url", "Content-Length": "is made from the body", "Content-Type": "is application/json",
	"Content-Encoding": "is not used: the body is plain JSON",
}

const hop = "is about the connection, not the request"

// checkHeaders checks the headers that an endpoint adds to its requests.
func checkHeaders(p *problems, headers map[string]string) {
	if len(headers) > maxHeaders {
		p.add("headers", "must not have more than %d entries", maxHeaders)
	}
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
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
		case !httpguts.ValidHeaderFieldValue(value):
			p.add(path, "has a value with line breaks or other control characters")
		}
		seen[canonical] = true
	}
	if size > maxHeaderBytes {
		p.add("headers", "must not be longer than %d bytes together", maxHeaderBytes)
	}
}
