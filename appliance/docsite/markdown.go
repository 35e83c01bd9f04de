package docsite

import (
	"bytes"
	"html/template"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown renders pages. HTML in a page is left out, and links that run scripts are not links.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(tableFrame{}, 100))),
)

// section is a part of a page, from a heading to the next.
type section struct {
	Title string
	ID    string // of its heading in the page; empty before the first one
	Level int
	text  string
}

// rendered is a page as it is served and searched.
type rendered struct {
	body     template.HTML
	sections []section
}

// contents are the headings that a reader chooses from: those of the second level.
func (r *rendered) contents() []section {
	var list []section
	for _, s := range r.sections {
		if s.Level == 2 {
			list = append(list, s)
		}
	}
	return list
}

// parse reads a page.
func parse(source []byte) ast.Node {
	return markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&headingIDs{}))))
}

// render makes a page of its source. resolve returns the address that a link leads to, and whether it leads anywhere.
func render(source []byte, resolve func(link string) (string, bool)) (*rendered, error) {
	tree := parse(source)
	removeComments(tree)
	relink(tree, resolve)
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, source, tree); err != nil {
		return nil, err
	}
	return &rendered{body: template.HTML(out.String()), sections: sectionsOf(tree, source)}, nil
}

// removeComments takes out what is for those who write a page.
func removeComments(tree ast.Node) {
	for n := tree.FirstChild(); n != nil; {
		next := n.NextSibling()
		if block, ok := n.(*ast.HTMLBlock); ok && block.HTMLBlockType == ast.HTMLBlockType2 {
			tree.RemoveChild(tree, n)
		}
		n = next
	}
}

// relink has each link lead where it does on this server. One that leads nowhere becomes its text.
func relink(tree ast.Node, resolve func(string) (string, bool)) {
	var links []*ast.Link
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns the visitor's errors only
		if link, ok := n.(*ast.Link); ok && entering {
			links = append(links, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range links {
		if address, ok := resolve(string(link.Destination)); ok {
			link.Destination = []byte(address)
			continue
		}
		parent := link.Parent()
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			parent.InsertBefore(parent, link, child)
		}
		parent.RemoveChild(parent, link)
	}
}

// target splits a link of a page into the page that it names and the place in it. A link within the page names none.
func target(link string) (page, fragment string, local bool) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return "", "", false
	}
	page, fragment, _ = strings.Cut(link, "#")
	if page != "" {
		page = path.Clean(page)
	}
	return page, fragment, true
}

// sectionsOf returns the parts of a page with their text.
func sectionsOf(tree ast.Node, source []byte) []section {
	sections := []section{{}}
	var words strings.Builder
	flush := func() {
		sections[len(sections)-1].text = strings.Join(strings.Fields(words.String()), " ")
		words.Reset()
	}
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		heading, ok := n.(*ast.Heading)
		if !ok {
			plain(&words, n, source)
			continue
		}
		flush()
		id, _ := heading.AttributeString("id")
		at, _ := id.([]byte)
		var title strings.Builder
		plain(&title, heading, source)
		sections = append(sections, section{Title: strings.TrimSpace(title.String()), ID: string(at), Level: heading.Level})
	}
	flush()
	return sections
}

// plain writes the text of a node, without what marks it up.
func plain(out *strings.Builder, n ast.Node, source []byte) {
	switch n := n.(type) {
	case *ast.Text:
		out.Write(util.UnescapePunctuations(n.Segment.Value(source)))
		if n.SoftLineBreak() || n.HardLineBreak() {
			out.WriteByte(' ')
		}
		return
	case *ast.String:
		out.Write(n.Value)
		return
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			out.Write(line.Value(source))
		}
		return
	}
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		plain(out, child, source)
	}
	if n.Type() == ast.TypeBlock {
		out.WriteByte(' ')
	}
}

// headingIDs names headings as the usual hosts of repositories do, so that a link to one leads to it there and here.
type headingIDs struct{ taken map[string]int }

// Generate implements parser.IDs.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	id := b.String()
	if h.taken == nil {
		h.taken = map[string]int{}
	}
	n := h.taken[id]
	h.taken[id]++
	if n > 0 {
		id += "-" + strconv.Itoa(n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (h *headingIDs) Put([]byte) {}

// tableFrame puts tables into a box of their own, in which wide ones scroll.
type tableFrame struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (tableFrame) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(east.KindTable, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		tags := "</table></div>\n"
		if entering {
			tags = "<div class=\"table\"><table>\n"
		}
		_, err := w.WriteString(tags)
		return ast.WalkContinue, err
	})
}
