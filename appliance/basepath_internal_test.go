package appliance

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Handlers see the same path whether or not a proxy took that of server.baseUrl away.
func TestBelowPath(t *testing.T) {
	h := belowPath("/a%20b/c", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.EscapedPath()+" "+r.URL.Path+" "+r.URL.RawQuery)
	}))
	for path, want := range map[string]string{
		"/api/x":                "/api/x /api/x ",
		"/a%20b/c/api/x%2Fy?q":  "/api/x%2Fy /api/x/y q",
		"/a%20b/c":              "/ / ",
		"/a%20b/c/":             "/ / ",
		"/a%20b/cd":             "/a%20b/cd /a b/cd ",
		"/a%20b/c/a%20b/c/api/": "/a%20b/c/api/ /a b/c/api/ ",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if got := w.Body.String(); got != want {
			t.Errorf("%s is seen as %q, want %q", path, got, want)
		}
	}
}
