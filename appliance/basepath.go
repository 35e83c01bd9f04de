package appliance

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/wardroom/wardroom/appliance/console"
	"github.com/wardroom/wardroom/core/api"
)

// belowPath takes the path of server.baseUrl away from that of a request, where a proxy left it: handlers see the same
// path however the server is reached. "" takes nothing away.
func belowPath(prefix string, next http.Handler) http.Handler {
	if prefix == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped, ok := strings.CutPrefix(r.URL.EscapedPath(), prefix)
		if !ok || escaped != "" && escaped[0] != '/' {
			next.ServeHTTP(w, r)
			return
		}
		if console.Reserved(r.URL.EscapedPath()) && !ours(escaped) { // of a prefix such as /api, which a proxy took away
			next.ServeHTTP(w, r)
			return
		}
		escaped = cmp.Or(escaped, "/")
		plain, err := url.PathUnescape(escaped)
		if err != nil {
			next.ServeHTTP(w, r)
			return
		}
		below := r.Clone(r.Context())
		below.URL.Path, below.URL.RawPath = plain, escaped
		next.ServeHTTP(w, below)
	})
}

// ours reports whether a path, which begins like one of ours in any case, is one of ours: /auth/methods below a prefix /api is
// none, for it is the rest of the API's own /api/auth/methods.
func ours(path string) bool {
	return api.SignInPage(path) || strings.HasPrefix(path, "/api/") || path == "/docs" || strings.HasPrefix(path, "/docs/")
}
