package docsite_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/docsite"
	"github.com/wardroom/wardroom/core/config"
)

// next stands in for the console and the API.
var next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusTeapot)
	_, _ = io.WriteString(w, r.URL.Path)
})

// document is an OpenAPI document with what the reference has to cope with.
const document = `{"openapi":"3.1.0","paths":{
 "/api/things/{id}":{"get":{"operationId":"getThing","summary":"Get a <b>thing</b> | or two.","tags":["things"],"x-scope":"patterns:read",
  "security":[{"bearer":["patterns:read"]}],
  "parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string","maxLength":256}}],
  "responses":{"200":{"description":"The thing.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}},
   "404":{"description":"Not Found"}}}},
 "/api/open":{"post":{"operationId":"open","summary":"Open.","tags":["other"],"security":[],
  "requestBody":{"required":false,"content":{"application/json":{"schema":{"type":"object","properties":{"any":true,
   "deep":{"type":"object","properties":{"word":{"type":"string","enum":["a","b|c"]}}}}}}}},
  "responses":{"204":{"description":"Done."}}}}},
 "components":{"schemas":{"ErrorBody":{"type":"object"},"Thing":{"type":"object","required":["id"],"properties":{"id":{"type":"string","description":"Its id."},
  "others":{"type":"array","items":{"$ref":"#/components/schemas/Thing"}}}}}}}`

func newSite(o docsite.Options) http.Handler {
	if o.OpenAPI == nil {
		o.OpenAPI = []byte(document)
	}
	o.Version = "1.2.3"
	return docsite.New(next, o)
}

func get(t *testing.T, h http.Handler, path string) (status int, header http.Header, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Header(), w.Body.String()
}

// A page is put into its frame and compressed once, not for each request: readers who are not signed in ask for it as well.
func TestPageIsPackedOnce(t *testing.T) {
	h := newSite(docsite.Options{})
	r := httptest.NewRequest(http.MethodGet, "/docs/configuration", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	var length int
	ask := func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if length = w.Body.Len(); w.Code != http.StatusOK || w.Header().Get("Content-Encoding") != "gzip" {
			t.Fatalf("%d, encoding %q", w.Code, w.Header().Get("Content-Encoding"))
		}
	}
	ask()
	const requests = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		ask()
	}
	runtime.ReadMemStats(&after)
	// The recorder keeps the body; a compressor alone takes more than 500 KiB.
	if each := int(after.TotalAlloc-before.TotalAlloc) / requests; each > 4*length+64<<10 {
		t.Errorf("each request takes %d bytes of memory for a body of %d", each, length)
	}
}

func TestWhatIsServed(t *testing.T) {
	for _, c := range []struct {
		name, method, path string
		foreign            bool
		status             int
	}{
		{name: "root", path: "/docs", status: 200},
		{name: "root with a slash", path: "/docs/", status: 200},
		{name: "page", path: "/docs/patterns", status: 200},
		{name: "page by its file", path: "/docs/patterns.md", status: 200},
		{name: "head", method: "HEAD", path: "/docs/patterns", status: 200},
		{name: "configuration", path: "/docs/configuration", status: 200},
		{name: "api", path: "/docs/api", status: 200},
		{name: "tag", path: "/docs/api-things", status: 200},
		{name: "bodies", path: "/docs/api-schemas", status: 200},
		{name: "search", path: "/docs/search?q=backup", status: 200},
		{name: "unknown", path: "/docs/nope", status: 404},
		{name: "outside of the pages", path: "/docs/../core/doc.go", status: 404},
		{name: "the package itself", path: "/docs/embed.go", status: 404},
		{name: "post", method: "POST", path: "/docs/", status: 418},
		{name: "not below", path: "/docsite", status: 418},
		{name: "api of the server", path: "/api/executions", status: 418},
		{name: "foreign host", path: "/docs/", foreign: true, status: 418},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newSite(docsite.Options{Serves: func(*http.Request) bool { return !c.foreign }})
			w := httptest.NewRecorder()
			method := c.method
			if method == "" {
				method = http.MethodGet
			}
			h.ServeHTTP(w, httptest.NewRequest(method, c.path, nil))
			if w.Code != c.status {
				t.Errorf("status is %d, want %d: %.200s", w.Code, c.status, w.Body)
			}
		})
	}
}

var (
	hrefPattern = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	idPattern   = regexp.MustCompile(`\sid="([^"]*)"`)
)

// TestEveryLinkLeadsSomewhere follows every link of every page, from the first one, to a page and a place that are there. It
// also holds every page to the policy: nothing inline, no script, nothing of another host.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	const base = "/a/b"
	h := newSite(docsite.Options{Prefix: base})
	bodies, ids := map[string]string{}, map[string]map[string]bool{}
	waiting := []string{base + "/docs/"}
	for len(waiting) > 0 {
		path := waiting[0]
		waiting = waiting[1:]
		if _, seen := bodies[path]; seen {
			continue
		}
		status, header, body := get(t, h, strings.TrimPrefix(path, base))
		if status != http.StatusOK {
			t.Errorf("GET %s: %d", path, status)
		}
		bodies[path], ids[path] = body, map[string]bool{}
		if strings.Contains(path, "/assets/") {
			continue
		}
		if got := header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; style-src 'self'") ||
			strings.Contains(got, "unsafe") || strings.Contains(got, "script-src") {
			t.Errorf("GET %s: the policy is %q", path, got)
		}
		if bad := regexp.MustCompile(`(?i)<script|<style|\sstyle=|\son\w+=|=["']?\s*javascript:|raw HTML omitted`).FindString(body); bad != "" {
			t.Errorf("GET %s has %q in it", path, bad)
		}
		for _, m := range idPattern.FindAllStringSubmatch(body, -1) {
			if ids[path][m[1]] {
				t.Errorf("GET %s has the id %q twice", path, m[1])
			}
			ids[path][m[1]] = true
		}
		for _, m := range hrefPattern.FindAllStringSubmatch(body, -1) {
			address, _, _ := strings.Cut(m[1], "#")
			switch {
			case address == "" || strings.HasPrefix(address, "https://") && !strings.Contains(m[0], "src="):
			case strings.HasPrefix(address, base+"/docs"):
				waiting = append(waiting, address)
			default:
				t.Errorf("GET %s leads to %s, which is not below the path", path, m[1])
			}
		}
	}
	for path, body := range bodies {
		for _, m := range hrefPattern.FindAllStringSubmatch(body, -1) {
			address, place, ok := strings.Cut(m[1], "#")
			if !ok || strings.HasPrefix(address, "https://") {
				continue
			}
			if address == "" {
				address = path
			}
			if !ids[address][place] {
				t.Errorf("GET %s leads to %s, where there is no such place", path, m[1])
			}
		}
	}
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) < 18 {
		t.Fatalf("pages: %v, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if _, reached := bodies[base+"/docs/"+name]; !reached && name != "README" {
			t.Errorf("no link leads to docs/%s.md: list it in docs/README.md", name)
		}
	}
}

// TestNoRawHTML finds HTML in pages, which would be left out of what is served.
func TestNoRawHTML(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, _, body := get(t, newSite(docsite.Options{}), "/docs/"+filepath.Base(file))
		if strings.Contains(body, "raw HTML omitted") {
			t.Errorf("%s has HTML in it (%d bytes)", file, len(data))
		}
	}
}

func TestConfigurationHasEveryKey(t *testing.T) {
	_, _, page := get(t, newSite(docsite.Options{}), "/docs/configuration")
	keys := config.Reference()
	if len(keys) < 200 {
		t.Fatalf("there are %d keys", len(keys))
	}
	for _, k := range keys {
		if !strings.Contains(page, "<code>"+strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(k.Path)+"</code></h") {
			t.Errorf("%s is not in the reference", k.Path)
		}
	}
}

func TestReferenceOfTheAPI(t *testing.T) {
	h := newSite(docsite.Options{})
	for _, c := range []struct {
		path string
		want []string
	}{
		{"/docs/api", []string{`href="/docs/api-things#getthing"`, "<code>GET /api/things/{id}</code>", "Get a &lt;b&gt;thing&lt;/b&gt; | or two."}},
		{"/docs/api-things", []string{
			`<h2 id="getthing">getThing</h2>`, "Scope: <code>patterns:read</code>", "<td><code>id</code></td>", "at most 256 characters",
			`<a href="/docs/api-schemas#thing">Thing</a>`, "Errors: 404",
		}},
		{"/docs/api-other", []string{"Open to everybody.", "may be left out", "<td><code>deep.word</code></td>", "<code>b|c</code>"}},
		{"/docs/api-schemas", []string{`<h2 id="thing">Thing</h2>`, "Required. Its id.", "list of "}},
	} {
		_, _, body := get(t, h, c.path)
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("GET %s has no %q:\n%s", c.path, want, body)
			}
		}
	}
}

func TestSearch(t *testing.T) {
	h := newSite(docsite.Options{})
	for _, c := range []struct{ name, query, want string }{
		{"a heading", "admin+socket", `href="/docs/operations#the-admin-socket"`},
		{"the beginning of a word", "rebas+thread", `href="/docs/cli#wardroom-thread-rebase-id"`},
		{"a key", "server.maxBody", `href="/docs/configuration#servermaxbody"`},
		{"an operation", "getThing", `href="/docs/api-things#getthing"`},
		{"marked", "backup", "<mark>"},
		{"nothing", "zzzyyyxxx", "Nothing has all of <strong>zzzyyyxxx</strong>"},
		{"no words", "", "Type words"},
		{"only signs", "%3C%3E", "Nothing has all of <strong>&lt;&gt;</strong>"},
		{"a script", "%3Cscript%3Ealert(1)%3C/script%3E", `value="&lt;script&gt;alert(1)&lt;/script&gt;"`},
		{"not text", "%ff%fe", "Type words"},
		{"long", strings.Repeat("a", 5000), "Nothing has all of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, body := get(t, h, "/docs/search?q="+c.query)
			if status != http.StatusOK || !strings.Contains(body, c.want) {
				t.Errorf("%d, want %s in:\n%.3000s", status, c.want, body)
			}
			if strings.Contains(body, "<script") {
				t.Error("a script of the query is in the page")
			}
		})
	}
}

func TestPageIsNotSentTwice(t *testing.T) {
	h := newSite(docsite.Options{})
	_, header, _ := get(t, h, "/docs/patterns")
	r := httptest.NewRequest(http.MethodGet, "/docs/patterns", nil)
	r.Header.Set("If-None-Match", header.Get("ETag"))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("status is %d with %d bytes", w.Code, w.Body.Len())
	}
}
