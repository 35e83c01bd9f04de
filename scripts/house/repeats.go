package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"hash/maphash"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// MostRepeated is how many lines of code, without blank lines, comments and imports, may stand twice.
const MostRepeated = 11

// repeats is the comment that says why a block stands twice: where else, and why. It stands in the block, or between the
// block and the line of code above it.
var repeats = regexp.MustCompile(`^(?://|#|\*)?\s*Repeats ([\w./-]+): \S`)

// source is what CheckRepeats compares of a file.
type source struct {
	name    string
	code    []codeLine
	excuses []excuse
}

// codeLine is one line of code, with one space in place of any other.
type codeLine struct {
	number int
	text   string
}

// excuse is a comment that says why a block stands twice.
type excuse struct {
	number int
	other  string // a file or a folder
	used   bool
}

// run is a stretch of lines of a source: from is an index of its code.
type run struct {
	file *source
	from int
}

// CheckRepeats reports blocks of more than MostRepeated lines that stand twice outside tests and generated code with no
// comment that says why, and such comments with no block.
func CheckRepeats(t *Tree) ([]Finding, error) {
	sources, err := readSources(t)
	if err != nil {
		return nil, err
	}
	const window = MostRepeated + 1
	var findings []Finding
	first := map[uint64]run{}
	seed := maphash.MakeSeed()
	for _, file := range sources {
		hashes := make([]uint64, len(file.code))
		for i, line := range file.code {
			hashes[i] = maphash.String(seed, line.text)
		}
		for i, reported := 0, 0; i+window <= len(file.code); i++ {
			key := maphash.Comparable(seed, [window]uint64(hashes[i:i+window]))
			earlier, ok := first[key]
			if !ok {
				first[key] = run{file, i}
				continue
			}
			if i < reported || earlier.file == file && earlier.from+window > i {
				continue
			}
			here := run{file, i}
			n := shared(earlier, here)
			reported = i + n
			if n < window || excused(earlier, here, n) {
				continue
			}
			findings = append(findings, Finding{
				At: here.place(n),
				Why: fmt.Sprintf("has the %d lines of %s: say it once, where both may import it, or say why not in a comment: Repeats %s: why",
					n, earlier.place(n), path.Dir(earlier.file.name)),
			})
		}
	}
	for _, file := range sources {
		for _, e := range file.excuses {
			if !e.used {
				findings = append(findings, Finding{fmt.Sprintf("%s:%d", file.name, e.number), "says that it repeats " + e.other + ", and does not: drop the comment"})
			}
		}
	}
	return findings, nil
}

// shared returns how many lines two runs have in common; runs of one file do not overlap.
func shared(a, b run) int {
	n := 0
	for a.from+n < len(a.file.code) && b.from+n < len(b.file.code) && a.file.code[a.from+n].text == b.file.code[b.from+n].text {
		if a.file == b.file && a.from+n == b.from {
			break
		}
		n++
	}
	return n
}

// excused reports whether a comment at one of the runs says why both are there.
func excused(a, b run, n int) bool { return a.excuses(b, n) || b.excuses(a, n) }

func (r run) excuses(other run, n int) bool {
	above := 0
	if r.from > 0 {
		above = r.file.code[r.from-1].number
	}
	last := r.file.code[r.from+n-1].number
	for i := range r.file.excuses {
		e := &r.file.excuses[i]
		if e.number > above && e.number <= last && Within(other.file.name, e.other) {
			e.used = true
			return true
		}
	}
	return false
}

// place returns the file and lines of the first n lines of a run.
func (r run) place(n int) string {
	return fmt.Sprintf("%s:%d-%d", r.file.name, r.file.code[r.from].number, r.file.code[r.from+n-1].number)
}

// readSources reads what people wrote as code, without tests.
func readSources(t *Tree) ([]*source, error) {
	parsed := map[string]*File{}
	for _, pkg := range t.Packages {
		for _, file := range pkg.Files {
			parsed[file.Name] = file
		}
	}
	var sources []*source
	for _, name := range t.Files {
		if !handWritten[path.Ext(name)] || strings.HasSuffix(name, ".gen.ts") || strings.HasSuffix(name, ".test.ts") {
			continue
		}
		data, err := fs.ReadFile(t.fsys, name)
		if err != nil {
			return nil, err
		}
		if file := parsed[name]; file == nil {
			sources = append(sources, readScript(name, data))
		} else if !file.Test && !file.Generated {
			sources = append(sources, readGo(t, file, data))
		}
	}
	return sources, nil
}

// readGo reads a Go file without its comments, its package clause and its imports.
func readGo(t *Tree, file *File, data []byte) *source {
	s := &source{name: file.Name}
	tokens := t.Fset.File(file.Syntax.Pos())
	data = slices.Clone(data)
	blank := func(from, to token.Pos) {
		for i := tokens.Offset(from); i < tokens.Offset(to); i++ {
			if data[i] != '\n' {
				data[i] = ' '
			}
		}
	}
	for _, group := range file.Syntax.Comments {
		for _, comment := range group.List {
			s.note(tokens.Line(comment.Pos()), comment.Text)
			blank(comment.Pos(), comment.End())
		}
	}
	blank(file.Syntax.Package, file.Syntax.Name.End())
	for _, decl := range file.Syntax.Decls {
		if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			blank(g.Pos(), g.End())
		}
	}
	s.add(data, nil)
	return s
}

// scriptNoise are the lines of other languages that say nothing by themselves: comments and imports.
var scriptNoise = regexp.MustCompile(`^(#|//|/\*|\*|import\b|from\b)`)

func readScript(name string, data []byte) *source {
	s := &source{name: name}
	for i, line := range bytes.Split(data, []byte("\n")) {
		s.note(i+1, string(bytes.TrimSpace(line)))
	}
	s.add(data, scriptNoise)
	return s
}

// note keeps a comment that says why a block stands twice.
func (s *source) note(number int, text string) {
	if match := repeats.FindStringSubmatch(text); match != nil {
		s.excuses = append(s.excuses, excuse{number: number, other: match[1]})
	}
}

func (s *source) add(data []byte, noise *regexp.Regexp) {
	for i, line := range bytes.Split(data, []byte("\n")) {
		text := string(bytes.Join(bytes.Fields(line), []byte(" "))) // fields of structs are aligned, one way or another
		if text != "" && (noise == nil || !noise.MatchString(text)) {
			s.code = append(s.code, codeLine{i + 1, text})
		}
	}
}
