package docsite

import (
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"

	"github.com/wardroom/wardroom/docs"
)

// site is all pages. Each is rendered, put into its frame and compressed when somebody first asks for it.
type site struct {
	root     string // address of the pages
	chapters []chapter
	byName   map[string]*page
	index    func() *index
}

// chapter is a part of the navigation.
type chapter struct {
	Title string
	Pages []pageLink
}

// pageLink is a page in the navigation.
type pageLink struct{ Name, Title string }

// page is one page. Its name is its address below the root, empty for the first one.
type page struct {
	name, title string
	source      func() []byte
	made        func() *rendered
	framed      func() (file, error) // as it is sent
}

// contentsFile is the page that everybody comes to first, and what the navigation is made of.
const contentsFile = "README.md"

// configFiles are links into the repository that the reference of the configuration stands for.
var configFiles = map[string]bool{"../configs/wardroom.yaml": true, "../configs/wardroom.schema.json": true}

// newSite makes the pages. It panics where those of docs are not whole: they are part of the program.
func newSite(address string, openAPI []byte) *site {
	s := &site{root: address, byName: map[string]*page{}}
	files, err := fs.Glob(docs.Pages, "*.md")
	if err != nil {
		panic("docsite: " + err.Error())
	}
	for _, file := range files {
		source, err := docs.Pages.ReadFile(file)
		if err != nil {
			panic("docsite: " + err.Error())
		}
		s.add(nameOf(file), titleOf(source), func() []byte { return source })
	}
	contents := s.byName[""].source()
	s.chapters = chaptersOf(parse(contents), contents)
	reference := chapter{Title: "Reference"}
	for _, p := range append([]*page{s.add("configuration", "Configuration", configReference)}, s.addAPI(openAPI)...) {
		reference.Pages = append(reference.Pages, pageLink{p.name, p.title})
	}
	s.chapters = append(s.chapters, reference)
	s.index = sync.OnceValue(func() *index { return newIndex(s) })
	return s
}

// nameOf is the name of the page of a file.
func nameOf(file string) string {
	if file == contentsFile {
		return ""
	}
	return strings.TrimSuffix(file, ".md")
}

// titleOf is the first heading of a page.
func titleOf(source []byte) string {
	line, _, _ := strings.Cut(string(source), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "#"))
}

func (s *site) add(name, title string, source func() []byte) *page {
	p := &page{name: name, title: title, source: source}
	p.made = sync.OnceValue(func() *rendered {
		made, err := render(p.source(), s.resolve)
		if err != nil { // of writing into memory: there is none
			return &rendered{body: template.HTML(template.HTMLEscapeString(err.Error()))}
		}
		return made
	})
	s.byName[name] = p
	return p
}

// page returns a page by its name, or that of the file that it is made of; nil if there is none.
func (s *site) page(name string) *page { return s.byName[nameOf(name)] }

// resolve returns the address that a link of a page leads to, and whether it leads anywhere from here.
func (s *site) resolve(link string) (string, bool) {
	file, fragment, local := target(link)
	if fragment != "" {
		fragment = "#" + fragment
	}
	switch {
	case !local:
		return link, true
	case file == "":
		return fragment, true
	case configFiles[file]:
		return s.root + "/configuration", true
	case path.Base(file) != file || s.page(file) == nil:
		return "", false
	}
	return s.root + "/" + url.PathEscape(nameOf(file)) + fragment, true
}

// chaptersOf reads the navigation off the page of contents: each heading of the second level is a chapter, and the pages
// that are linked below it are its pages.
func chaptersOf(tree ast.Node, source []byte) []chapter {
	chapters := []chapter{{Title: "Start", Pages: []pageLink{{"", "Contents"}}}}
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns the visitor's errors only
		if !entering {
			return ast.WalkContinue, nil
		}
		var words strings.Builder
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				plain(&words, n, source)
				chapters = append(chapters, chapter{Title: strings.TrimSpace(words.String())})
			}
		case *ast.Link:
			file, _, local := target(string(n.Destination))
			if last := len(chapters) - 1; local && last > 0 && strings.HasSuffix(file, ".md") && path.Base(file) == file {
				plain(&words, n, source)
				chapters[last].Pages = append(chapters[last].Pages, pageLink{nameOf(file), strings.TrimSpace(words.String())})
			}
		}
		return ast.WalkContinue, nil
	})
	return chapters
}
