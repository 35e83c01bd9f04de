package docsite

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/wardroom/wardroom/appliance/console"
	"github.com/wardroom/wardroom/core/api"
)

// Options say what is served, and how it is reached.
type Options struct {
	// Prefix goes before each address of a page: the path at which browsers reach the server, "" for the root. Requests
	// come without it.
	Prefix string
	// Serves reports whether a request was sent to a host that is ours; nil: all are. Others go on to the next handler.
	Serves func(*http.Request) bool
	// Version is that of the binary; "" shows none.
	Version string
	// OpenAPI is the document that the reference of the API is made from.
	OpenAPI []byte
}

// Handler serves the documentation before the next handler. It is safe for concurrent use.
type Handler struct {
	next  http.Handler
	opts  Options
	files map[string]file // by their addresses, below root
	style string          // address of the style sheet
	icon  string          // likewise
	site  func() *site    // made when somebody first asks: most servers are never asked
}

// root is where the pages are, below the prefix.
const root = "/docs"

//go:embed style.css
var style []byte

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// New makes the handler. What is not below /docs goes on to next.
func New(next http.Handler, o Options) *Handler {
	h := &Handler{next: next, opts: o, files: map[string]file{}}
	h.style = h.keep(newFile("text/css; charset=utf-8", style), ".css")
	h.icon = h.keep(newFile("image/svg+xml", console.Icon()), ".svg")
	h.site = sync.OnceValue(func() *site {
		s := newSite(o.Prefix+root, o.OpenAPI)
		for _, p := range s.byName {
			p.framed = sync.OnceValues(func() (file, error) {
				made := p.made()
				return h.frame(view{Title: p.title, Name: p.name, Body: made.body, Contents: made.contents()})
			})
		}
		return s
	})
	return h
}

// file is a body that is sent: a page in its frame, or a style sheet or picture that pages load.
type file struct {
	kind   string
	data   []byte
	sum    string
	packed func() ([]byte, bool) // gzip, and whether it is worth it; made on first use
}

func newFile(kind string, data []byte) file {
	sum := sha256.Sum256(data)
	return file{
		kind: kind, data: data, sum: hex.EncodeToString(sum[:8]),
		packed: sync.OnceValues(func() ([]byte, bool) { return console.Pack(data) }),
	}
}

// keep serves a file, and returns its address, which has its checksum: so browsers keep it.
func (h *Handler) keep(f file, ending string) string {
	name := "assets/" + f.sum + ending
	h.files[name] = f
	return h.opts.Prefix + root + "/" + name
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, root)
	if !ok || rest != "" && rest[0] != '/' || r.Method != http.MethodGet && r.Method != http.MethodHead ||
		h.opts.Serves != nil && !h.opts.Serves(r) {
		h.next.ServeHTTP(w, r)
		return
	}
	name := strings.Trim(rest, "/")
	f, ok := h.files[name]
	switch {
	case ok:
		h.send(w, r, http.StatusOK, "public, max-age=31536000, immutable", f)
	case name == "search":
		h.search(w, r)
	default:
		h.page(w, r, name)
	}
}

// view holds the data of the template.
type view struct {
	Root, Style, Icon, Version string
	Title, Name                string // Name is that of the page; empty where there is none
	Query                      string
	Navigation                 []chapter
	Body                       template.HTML
	Contents                   []section
}

// page serves one page, or says that there is none.
func (h *Handler) page(w http.ResponseWriter, r *http.Request, name string) {
	p := h.site().page(name)
	if p == nil {
		h.show(w, r, http.StatusNotFound, view{
			Title: "No such page", Body: "<h1>No such page</h1><p>The pages are on the left; the search finds what is in them.</p>",
		})
		return
	}
	f, err := p.framed()
	h.sendPage(w, r, http.StatusOK, f, err)
}

// frame puts a page into its frame.
func (h *Handler) frame(v view) (file, error) {
	v.Root, v.Style, v.Icon, v.Version, v.Navigation = h.opts.Prefix+root, h.style, h.icon, h.opts.Version, h.site().chapters
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, v); err != nil {
		return file{}, err
	}
	return newFile("text/html; charset=utf-8", out.Bytes()), nil
}

// show sends what is made for one request in the frame of a page.
func (h *Handler) show(w http.ResponseWriter, r *http.Request, status int, v view) {
	f, err := h.frame(v)
	h.sendPage(w, r, status, f, err)
}

func (h *Handler) sendPage(w http.ResponseWriter, r *http.Request, status int, f file, err error) {
	if err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	h.send(w, r, status, "no-cache", f)
}

// policy is the content security policy of a page: it may load the one style sheet, and use the search.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// send answers a request.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, status int, cache string, f file) {
	header := w.Header()
	console.SetHeaders(header)
	header.Set("Content-Security-Policy", policy)
	header.Set("Content-Type", f.kind)
	header.Set("Cache-Control", cache)
	header.Set("Vary", "Accept-Encoding")
	if status == http.StatusOK {
		tag := `"` + f.sum + `"`
		header.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body := f.data
	if api.TakesGzip(r) {
		if packed, worth := f.packed(); worth {
			header.Set("Content-Encoding", "gzip")
			body = packed
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a reader that went away misses nothing
}

// Bounds of a search.
const (
	maxQuery = 200 // bytes
	maxFound = 30
)

// search serves what the search finds.
func (h *Handler) search(w http.ResponseWriter, r *http.Request) {
	query := strings.ToValidUTF8(r.URL.Query().Get("q"), "")
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	query = strings.TrimSpace(query)
	var b strings.Builder
	b.WriteString("<h1>Search</h1>\n")
	found := h.site().index().find(query, maxFound)
	switch {
	case query == "":
		b.WriteString("<p>Type words that a page must have.</p>")
	case len(found) == 0:
		fmt.Fprintf(&b, "<p>Nothing has all of <strong>%s</strong>.</p>", template.HTMLEscapeString(query))
	default:
		b.WriteString("<ol class=\"found\">\n")
		for _, f := range found {
			address := h.opts.Prefix + root + "/" + f.page.name
			if f.ID != "" {
				address += "#" + f.ID
			}
			fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a> <span>%s</span><p>%s</p></li>\n", template.HTMLEscapeString(address),
				template.HTMLEscapeString(f.Title), template.HTMLEscapeString(f.page.title), f.excerpt)
		}
		b.WriteString("</ol>")
	}
	h.show(w, r, http.StatusOK, view{Title: "Search", Query: query, Body: template.HTML(b.String())})
}
