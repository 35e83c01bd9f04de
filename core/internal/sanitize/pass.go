package sanitize

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// activeElements run, load or embed something, or say where it comes from. Those that are true go with what is in them.
var activeElements = map[string]bool{
	"script": true, "iframe": true, "noembed": true, "noframes": true, "applet": true,
	"object": false, "embed": false, "frame": false, "frameset": false, "base": false, "meta": false, "link": false,
}

// silentElements have content that is no text.
var silentElements = map[string]bool{"script": true, "style": true, "iframe": true, "noembed": true, "noframes": true, "applet": true}

// addressAttributes hold addresses.
var addressAttributes = map[string]bool{
	"href": true, "xlink:href": true, "src": true, "action": true, "formaction": true, "data": true, "poster": true, "background": true,
	"ping": true, "manifest": true, "from": true, "to": true, "values": true, "srcset": true,
}

// pass is one look at a text.
type pass struct {
	options       Options
	html, scripts bool // what was removed
	out           strings.Builder
}

// over returns a text without what is to be removed.
func (p *pass) over(text string) string {
	z := html.NewTokenizer(strings.NewReader(text))
	at := 0
	inside := "" // element whose content goes
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			p.rest(text[min(at, len(text)):], inside != "")
			return p.out.String()
		}
		raw := text[at : at+len(z.Raw())]
		at += len(raw)
		name := ""
		var token html.Token
		if kind == html.StartTagToken || kind == html.EndTagToken || kind == html.SelfClosingTagToken {
			token = z.Token()
			name = token.Data
		}
		if inside != "" {
			if kind == html.EndTagToken && name == inside {
				inside = ""
			}
			continue
		}
		switch {
		case kind == html.TextToken:
			p.text(raw)
		case name == "" && p.options.HTML: // comments and the like
			p.html = true
		case name == "":
			if strings.Contains(raw[1:], "<") { // some readers see through comments
				p.scripts = true
				continue
			}
			p.out.WriteString(raw)
		case p.options.HTML:
			p.html = true
			if _, active := activeElements[name]; active {
				p.scripts = p.scripts || p.options.Scripts
			}
			if kind == html.StartTagToken && silentElements[name] {
				inside = name
			}
		default:
			inside = p.tag(kind, raw, &token)
		}
	}
}

// text writes a text. Tags stand in one inside of elements such as style and title, whose content is text in HTML; inside of svg
// and math it is not, so nothing there must be taken for a tag.
func (p *pass) text(raw string) {
	if !p.options.HTML && tagLike(raw) {
		p.scripts = true
		raw = strings.ReplaceAll(raw, "<", "&lt;")
	}
	p.out.WriteString(raw)
}

// tagLike reports whether a text holds what a reader may take for a tag.
func tagLike(text string) bool {
	for i := strings.IndexByte(text, '<'); i >= 0 && i+1 < len(text); {
		if c := text[i+1]; c == '/' || c == '!' || c == '?' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return true
		}
		next := strings.IndexByte(text[i+1:], '<')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// tag writes a tag without what could run, and returns the element whose content goes with it.
func (p *pass) tag(kind html.TokenType, raw string, token *html.Token) (inside string) {
	if silent, active := activeElements[token.Data]; active {
		p.scripts = true
		if silent && kind == html.StartTagToken {
			return token.Data
		}
		return ""
	}
	if strings.Contains(token.Data, "<") { // what one reader takes for the name of a tag is another tag for the next one
		p.scripts = true
		return ""
	}
	kept := token.Attr[:0]
	for _, a := range token.Attr {
		if !runs(a) {
			kept = append(kept, a)
		}
	}
	if len(kept) == len(token.Attr) && !strings.Contains(raw[1:], "<") {
		p.out.WriteString(raw)
		return ""
	}
	p.scripts = true
	token.Attr = kept
	p.out.WriteString(token.String())
	return ""
}

// runs reports whether an attribute could run something.
func runs(a html.Attribute) bool {
	name := strings.ToLower(a.Key)
	if a.Namespace != "" {
		name = a.Namespace + ":" + name
	}
	value := plain(a.Val)
	switch {
	case strings.HasPrefix(name, "on"), name == "srcdoc", strings.ContainsAny(name, "<"):
		return true
	case name == "style":
		return strings.Contains(value, "expression(") || strings.Contains(value, "javascript:") || strings.Contains(value, "-moz-binding") || strings.Contains(value, "@import")
	case !addressAttributes[name]:
		return false
	}
	return strings.Contains(value, "javascript:") || strings.Contains(value, "vbscript:") ||
		strings.Contains(value, "data:") && !strings.HasPrefix(value, "data:image/png") && !strings.HasPrefix(value, "data:image/jpeg") && !strings.HasPrefix(value, "data:image/gif")
}

// plain returns a value as schemes of addresses are compared: in lower case, without what readers pass over.
func plain(value string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || unicode.IsControl(r) || r == '\u200b' || r == '\ufeff' {
			return -1
		}
		return unicode.ToLower(r)
	}, value)
}

// rest writes what is left behind the last token, such as a tag without its end: nothing must complete it.
func (p *pass) rest(text string, gone bool) {
	if gone || text == "" {
		return
	}
	if strings.Contains(text, "<") {
		p.html, p.scripts = p.html || p.options.HTML, p.scripts || !p.options.HTML
		text = strings.ReplaceAll(text, "<", "&lt;")
	}
	p.out.WriteString(text)
}
