package appliance

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Handlers see the same path whether or not a proxy took that of server.baseUrl away.
func TestBelowPath(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.EscapedPath()+" "+r.URL.Path+" "+r.URL.RawQuery)
	})
	for _, c := range []struct{ prefix, path, want string }{
		{"", "/a%20b/c", "/a%20b/c /a b/c "},
		{"/a%20b/c", "/api/x", "/api/x /api/x "},
		{"/a%20b/c", "/a%20b/c/api/x%2Fy?q", "/api/x%2Fy /api/x/y q"},
		{"/a%20b/c", "/a%20b/c", "/ / "},
		{"/a%20b/c", "/a%20b/c/", "/ / "},
		{"/a%20b/c", "/a%20b/cd", "/a%20b/cd /a b/cd "},
		{"/a%20b/c", "/a%20b/c/a%20b/c/api/", "/a%20b/c/api/ /a b/c/api/ "},
		{"/api", "/api/x", "/api/x /api/x "},
		{"/api", "/api/api/x", "/api/x /api/x "},
		{"/api", "/api/auth/methods", "/api/auth/methods /api/auth/methods "},
		{"/api", "/api/auth/login?next=%2F", "/auth/login /auth/login next=%2F"},
		{"/api", "/api/auth/cli/decide", "/auth/cli/decide /auth/cli/decide "},
		{"/api", "/api/docs/security", "/docs/security /docs/security "},
		{"/docs", "/docs/api", "/docs/api /docs/api "},
		{"/docs", "/docs/api/patterns", "/api/patterns /api/patterns "},
		{"/auth", "/auth/login", "/auth/login /auth/login "},
		{"/auth", "/auth/auth/login", "/auth/login /auth/login "},
	} {
		w := httptest.NewRecorder()
		belowPath(c.prefix, echo).ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.path, nil))
		if got := w.Body.String(); got != c.want {
			t.Errorf("below %q, %s is seen as %q, want %q", c.prefix, c.path, got, c.want)
		}
	}
}
