package console

import (
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"strings"

	"github.com/wardroom/wardroom/core/api"
)

// Options say how the console is reached.
type Options struct {
	// Prefix goes before each address of the page: the path at which browsers reach the server, "" for the root. Requests
	// come without it.
	Prefix string
	// Serves reports whether a request was sent to a host that is ours; nil: all are. Others go on to the API, which
	// refuses them.
	Serves func(*http.Request) bool
}

// Handler serves the console before the API. It is safe for concurrent use.
type Handler struct {
	next   http.Handler
	opts   Options
	assets *assets
	page   []byte
	etag   string // of the page
}

// New makes the handler. What is not the console's goes on to next.
func New(next http.Handler, o Options) *Handler {
	tree, err := fs.Sub(files, "dist")
	if err != nil {
		panic("console: " + err.Error()) // the directory is embedded
	}
	h := &Handler{next: next, opts: o, assets: loadAssets(tree)}
	h.page = []byte(h.render())
	h.etag = `"` + h.assets.digest + "-" + fmt.Sprint(len(h.page)) + `"`
	return h
}

// render makes the one page. All of it that is not fixed are addresses.
func (h *Handler) render() string {
	at := html.EscapeString(h.opts.Prefix + "/assets/" + h.assets.digest + "/")
	return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="wardroom-base" content="` + html.EscapeString(h.opts.Prefix) + `">
<meta name="wardroom-assets" content="` + at + `">
<title>Wardroom</title>
<link rel="icon" href="` + at + `icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="` + at + `main.css">
<script type="module" src="` + at + `main.js"></script>
</head>
<body>
<div id="app"></div>
<noscript>The console needs JavaScript; without it, the command line does the same: wardroom --help</noscript>
</body>
</html>
`
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || Reserved(r.URL.Path) || h.opts.Serves != nil && !h.opts.Serves(r) {
		h.next.ServeHTTP(w, r)
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/assets/"); ok {
		h.asset(w, r, name)
		return
	}
	if !wantsPage(r) {
		h.next.ServeHTTP(w, r)
		return
	}
	setPolicy(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Vary", "Accept")
	w.Header().Set("ETag", h.etag)
	if r.Header.Get("If-None-Match") == h.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(h.page) // a reader that went away misses nothing
}

// Reserved reports whether a path belongs to the API, to sign-in, or to documents.
func Reserved(path string) bool {
	for _, tree := range []string{"/api", "/auth", "/docs"} {
		if rest, ok := strings.CutPrefix(path, tree); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// wantsPage reports whether the sender of a request shows HTML. Others, such as curl, get the API's answer.
func wantsPage(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			kind, _, _ := strings.Cut(part, ";")
			if kind = strings.TrimSpace(kind); strings.EqualFold(kind, "text/html") || strings.EqualFold(kind, "application/xhtml+xml") {
				return true
			}
		}
	}
	return false
}

// asset serves a file. Its address holds what it is, so it never changes; a page of another version asks for files that
// are not here, and is loaded anew by its script.
func (h *Handler) asset(w http.ResponseWriter, r *http.Request, name string) {
	digest, name, _ := strings.Cut(name, "/")
	a := h.assets.byName[name]
	if a == nil || digest != h.assets.digest {
		h.next.ServeHTTP(w, r)
		return
	}
	setPolicy(w.Header())
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Vary", "Accept-Encoding")
	body := a.plain
	if packed, worth := a.packed(); worth && api.TakesGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		body = packed
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body) // likewise
}
