package apitest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

const resource = "urn:openapi"

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
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(resource, parsed); err != nil {
		return nil, err
	}
	d := &Document{paths: paths, compiler: c, compiled: map[string]*jsonschema.Schema{}}
	for _, op := range d.Operations() {
		method, path, _ := strings.Cut(op, " ")
		for status := range child(d.operation(method, path), "responses") {
			content := child(d.operation(method, path), "responses", status, "content")
			for media := range content {
				if _, err := d.schema(method, path, status, media); err != nil {
					return nil, fmt.Errorf("%s %s %s: %w", op, status, media, err)
				}
			}
		}
	}
	return d, nil
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
		return d.validate(resource+"#/components/schemas/ErrorBody", body)
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
	schema, err := d.schema(method, template, strconv.Itoa(status), media)
	if err != nil {
		return err
	}
	return instance(schema, body)
}

func (d *Document) validate(location string, body []byte) error {
	schema, err := d.compile(location)
	if err != nil {
		return err
	}
	return instance(schema, body)
}

func instance(schema *jsonschema.Schema, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body is no JSON: %w", err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%w in %s", err, body)
	}
	return nil
}

// schema returns the compiled schema of one answer.
func (d *Document) schema(method, path, status, media string) (*jsonschema.Schema, error) {
	pointer := "#"
	for _, part := range []string{
		"paths", path, strings.ToLower(method), "responses", status, "content", media, "schema",
	} {
		part = strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
		pointer += "/" + url.PathEscape(part)
	}
	return d.compile(resource + pointer)
}

func (d *Document) compile(location string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.compiled[location]; ok {
		return s, nil
	}
	s, err := d.compiler.Compile(location)
	if err == nil {
		d.compiled[location] = s
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
