package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
)

const (
	pageMedia = "text/html"
	pageType  = pageMedia + "; charset=utf-8"
)

// pageContent holds the data of the template of a sign-in page.
type pageContent struct {
	Title   string
	Text    string
	Prefix  string      // of the addresses in it; set by pageOf
	Next    string      // an address that it goes on to; "": it stays
	AskCode bool        // it has a field for the code of a command line
	Grant   *core.Grant // it asks whether this may act for User
	User    string
	Token   string // of its form
}

const pageStyle = `body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem;color:#1a1f27;background:#fff}` +
	`code{font-size:1.5rem;letter-spacing:.1em}button,input{font:inherit;padding:.4rem 1rem;margin-right:.5rem}` +
	`@media(prefers-color-scheme:dark){body{color:#e6e9ee;background:#14181d}}`

// pageTemplate escapes what it shows for where it shows it.
var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
{{if .Next}}<meta http-equiv="refresh" content="0;url={{.Next}}">
{{end}}<title>{{.Title}}</title><style>` + pageStyle + `</style></head>
<body><h1>{{.Title}}</h1>
{{if .Text}}<p>{{.Text}}</p>
{{end}}{{if .Next}}<p><a href="{{.Next}}">Go on</a></p>
{{end}}{{if .AskCode}}<form method="get" action="{{.Prefix}}/auth/cli"><p><label>Code <input name="code" autocomplete="off" required></label>
<button>Go on</button></p></form>
{{end}}{{with .Grant}}<p>A command line{{if .Client}} that calls itself <b>{{.Client}}</b>{{end}} at {{.Address}} asks to act for you, <b>{{$.User}}</b>.
Approve only if you began this login yourself, and the command line shows this code:</p>
<p><code>{{.UserCode}}</code></p>
<form method="post" action="{{$.Prefix}}/auth/cli/decide"><input type="hidden" name="code" value="{{.UserCode}}"><input type="hidden" name="token" value="{{$.Token}}">
<button name="decision" value="approve">Approve</button><button name="decision" value="refuse">Refuse</button></form>
{{end}}</body></html>
`))

// pageCSP lets a page have its own style and send its own form, and nothing else.
var pageCSP = func() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'"
}()

// page200 answers with a page.
func (c *call) page200(content pageContent) answer { return c.pageOf(http.StatusOK, content) }

func (c *call) pageOf(status int, content pageContent) answer {
	var text bytes.Buffer
	content.Prefix = c.s.opts.Prefix
	if err := pageTemplate.Execute(&text, content); err != nil {
		panic(err) // of the template, which has seen all kinds of content in tests
	}
	policy := pageCSP
	if g := content.Grant; g != nil && g.Port > 0 { // browsers look at where the answer to a form leads
		policy += " http://127.0.0.1:" + strconv.Itoa(g.Port)
	}
	h := c.w.Header()
	h["Content-Security-Policy"] = []string{policy}
	h["Referrer-Policy"] = []string{"same-origin"} // with no-referrer browsers would not say that a form is of this site
	return answer{status: status, raw: text.Bytes(), typ: pageType}
}

// paged shows the errors of a handler as pages to browsers. Others get them as everywhere.
func paged(handle func(c *call) (answer, error)) func(c *call) (answer, error) {
	return func(c *call) (answer, error) {
		a, err := handle(c)
		if err == nil || !strings.Contains(c.r.Header.Get("Accept"), pageMedia) {
			return a, err
		}
		if refused := c.recordFailure(err); refused != nil {
			err = refused
		}
		e := core.AsError(err)
		plain := errorAnswer(err, c.id)
		if plain.status >= http.StatusInternalServerError {
			c.s.log.Warn("sign-in failed", "request", c.id, "operation", c.route.OperationID, "error", err)
		}
		c.code = e.Code
		text := "Internal error."
		if e.Code != core.CodeInternal || e.Unavailable {
			text = strings.ToUpper(e.Message[:1]) + e.Message[1:] + "."
		}
		a = c.pageOf(plain.status, pageContent{Title: "Not signed in", Text: text + " (request " + c.id + ")"})
		a.retryAfter = plain.retryAfter
		return a, nil
	}
}
