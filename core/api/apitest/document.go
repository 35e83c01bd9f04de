package apitest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is a parsed OpenAPI document. It is safe for concurrent use.
type Document struct {
	paths map[string]any

	mu       sync.Mutex // guards all below
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

const (
	resource   = "urn:openapi"
	components = "#/components/schemas/"
	defs       = "#/$defs/"
)

// Parse reads a document and compiles the schema of every answer in it.
func Parse(r io.Reader) (*Document, error) {
	parsed, err := jsonschema.UnmarshalJSON(r)
	if err != nil {
		return nil, err
	}
	root, _ := parsed.(map[string]any)
	paths, _ := root["paths"].(map[string]any)
	if len(paths) == 0 {
		return nil, errors.New("it has no paths")
	}
	d := &Document{paths: paths, compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	// One schema that defines them all: a compiler goes over a whole document again for each schema that stands elsewhere in it.
	all := maps.Clone(child(root, "components", "schemas"))
	var answers []string
	for _, op := range d.Operations() {
		method, path, _ := strings.Cut(op, " ")
		for status, response := range child(d.operation(method, path), "responses") {
			for media, content := range child(response.(map[string]any), "content") {
				name := answer(method, path, status, media)
				all[name] = content.(map[string]any)["schema"]
				answers = append(answers, name)
			}
		}
	}
	define(all)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(resource, map[string]any{"$defs": all}); err != nil {
		return nil, err
	}
	for _, name := range answers {
		if _, err := d.compile(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return d, nil
}

// define turns references to the components of a document into those to definitions of a schema.
func define(v any) {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			if name, ok := strings.CutPrefix(ref, components); ok {
				v["$ref"] = defs + name
			}
		}
		for _, in := range v {
			define(in)
		}
	case []any:
		for _, in := range v {
			define(in)
		}
	}
}

// answer names the schema of one answer among the definitions.
func answer(method, path, status, media string) string {
	return method + " " + path + " " + status + " " + media
}

// Operations lists "METHOD /path" of every operation, in no order.
func (d *Document) Operations() []string {
	var list []string
	for path := range d.paths {
		for method := range child(d.paths, path) {
			list = append(list, strings.ToUpper(method)+" "+path)
		}
	}
	return list
}

func (d *Document) operation(method, path string) map[string]any {
	return child(d.paths, path, strings.ToLower(method))
}

// Check compares an answer with the document. An answer on a path that is not in the document, or to a
// method that is not, must be an error.
func (d *Document) Check(method, path string, status int, media string, body []byte) error {
	template := d.match(method, path)
	op := d.operation(method, template)
	if op == nil {
		if status != http.StatusNotFound && status != http.StatusMethodNotAllowed && status < 500 {
			return errors.New("the document has no such operation")
		}
		return d.validate("ErrorBody", body)
	}
	response := child(op, "responses", strconv.Itoa(status))
	if response == nil {
		return errors.New("the document has no such status for this operation")
	}
	content := child(response, "content")
	switch {
	case len(content) == 0 && media == "" && len(body) == 0:
		return nil
	case child(content, media) == nil:
		return fmt.Errorf("the document has no content type %q here", media)
	case media != "application/json":
		return nil
	}
	return d.validate(answer(method, template, strconv.Itoa(status), media), body)
}

// validate compares a body with a definition.
func (d *Document) validate(name string, body []byte) error {
	schema, err := d.compile(name)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body is no JSON: %w", err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%w in %s", err, body)
	}
	return nil
}

// compile returns the compiled schema of a definition.
func (d *Document) compile(name string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.compiled[name]; ok {
		return s, nil
	}
	s, err := d.compiler.Compile(resource + defs + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name)))
	if err == nil {
		d.compiled[name] = s
	}
	return s, err
}

// match finds the template of a path that has the method; one with fewer parameters wins.
func (d *Document) match(method, path string) string {
	parts := strings.Split(path, "/")
	best := ""
	for template := range d.paths {
		want := strings.Split(template, "/")
		if len(want) != len(parts) || d.operation(method, template) == nil {
			continue
		}
		fits := true
		for i := range want {
			param := strings.HasPrefix(want[i], "{")
			fits = fits && (param && parts[i] != "" || want[i] == parts[i])
		}
		if fits && (best == "" || strings.Count(template, "{") < strings.Count(best, "{")) {
			best = template
		}
	}
	return best
}

// child walks into nested objects; nil when a step is not there.
func child(m map[string]any, keys ...string) map[string]any {
	for _, k := range keys {
		next, ok := m[k].(map[string]any)
		if !ok {
			return nil
		}
		m = next
	}
	return m
}
