package docsite

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// apiDocument holds the parts of an OpenAPI document that the reference reads.
type apiDocument struct {
	Paths      map[string]map[string]*apiOperation `json:"paths"`
	Components struct {
		Schemas map[string]*apiSchema `json:"schemas"`
	} `json:"components"`
}

// apiOperation is one operation.
type apiOperation struct {
	method, path string

	OperationID string                  `json:"operationId"`
	Summary     string                  `json:"summary"`
	Description string                  `json:"description"`
	Tags        []string                `json:"tags"`
	Scope       string                  `json:"x-scope"`
	Security    []map[string][]string   `json:"security"`
	Parameters  []apiParameter          `json:"parameters"`
	RequestBody *apiBody                `json:"requestBody"`
	Responses   map[string]*apiResponse `json:"responses"`
}

type apiParameter struct {
	Name        string     `json:"name"`
	In          string     `json:"in"`
	Description string     `json:"description"`
	Required    bool       `json:"required"`
	Schema      *apiSchema `json:"schema"`
}

type apiBody struct {
	Required bool                `json:"required"`
	Content  map[string]apiMedia `json:"content"`
}

type apiResponse struct {
	Description string              `json:"description"`
	Content     map[string]apiMedia `json:"content"`
}

type apiMedia struct {
	Schema *apiSchema `json:"schema"`
}

// apiSchema holds the parts of a schema that the reference reads. Where a schema is true, anything, or false, all of it
// is empty.
type apiSchema struct {
	Ref         string                `json:"$ref"`
	Type        any                   `json:"type"` // a name or a list of them
	Format      string                `json:"format"`
	Description string                `json:"description"`
	Enum        []any                 `json:"enum"`
	Const       any                   `json:"const"`
	Default     any                   `json:"default"`
	Minimum     *float64              `json:"minimum"`
	Maximum     *float64              `json:"maximum"`
	MaxLength   *int                  `json:"maxLength"`
	MaxItems    *int                  `json:"maxItems"`
	Required    []string              `json:"required"`
	Properties  map[string]*apiSchema `json:"properties"`
	Items       *apiSchema            `json:"items"`
	Additional  *apiSchema            `json:"additionalProperties"`
	AnyOf       []*apiSchema          `json:"anyOf"`
	OneOf       []*apiSchema          `json:"oneOf"`
	AllOf       []*apiSchema          `json:"allOf"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *apiSchema) UnmarshalJSON(data []byte) error {
	if text := string(data); text == "true" || text == "false" {
		return nil
	}
	type plain apiSchema
	return json.Unmarshal(data, (*plain)(s))
}

// Names of pages of the reference.
const (
	apiPage     = "api"
	schemasPage = "api-schemas"
)

// addAPI adds the reference of the API: what all operations share, a page for each tag, and the bodies. Without a document
// there are no such pages. It panics where the document is none: the program made it.
func (s *site) addAPI(data []byte) []*page {
	if len(data) == 0 {
		return nil
	}
	tags := apiTags(data)
	names := slices.Sorted(maps.Keys(tags))
	// The document is read again when somebody asks for one of these pages: it is large, and few do.
	read := sync.OnceValue(func() *apiReference { return newAPIReference(data) })
	pages := []*page{s.add(apiPage, "API", func() []byte { return read().overview(names) })}
	for _, tag := range names {
		pages = append(pages, s.add(apiPage+"-"+tag, "API: "+tag, func() []byte { return read().tag(tag) }))
	}
	return append(pages, s.add(schemasPage, "API: bodies", func() []byte { return read().schemas() }))
}

// apiTags returns the tags of a document.
func apiTags(data []byte) map[string]bool {
	var document struct {
		Paths map[string]map[string]struct {
			Tags []string `json:"tags"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		panic("docsite: the OpenAPI document: " + err.Error())
	}
	tags := map[string]bool{}
	for _, item := range document.Paths {
		for _, op := range item {
			for _, tag := range op.Tags {
				tags[tag] = true
			}
		}
	}
	return tags
}

// apiReference writes the pages of a document.
type apiReference struct {
	apiDocument
	byTag map[string][]*apiOperation // by path and method
}

var methods = []string{"get", "post", "put", "patch", "delete"}

func newAPIReference(data []byte) *apiReference {
	r := &apiReference{byTag: map[string][]*apiOperation{}}
	if err := json.Unmarshal(data, &r.apiDocument); err != nil {
		panic("docsite: the OpenAPI document: " + err.Error())
	}
	for _, path := range slices.Sorted(maps.Keys(r.Paths)) {
		for _, method := range methods {
			op := r.Paths[path][method]
			if op == nil {
				continue
			}
			op.method, op.path = strings.ToUpper(method), path
			for _, tag := range op.Tags {
				r.byTag[tag] = append(r.byTag[tag], op)
			}
		}
	}
	return r
}

// anchor is where an operation stands in its page.
func (op *apiOperation) anchor() string {
	return string((&headingIDs{}).Generate([]byte(op.OperationID), 0))
}

// needs says which scope an operation asks for.
func (op *apiOperation) needs() string {
	switch {
	case len(op.Security) == 0:
		return "Open to everybody."
	case op.Scope == "" || op.Scope == "any":
		return "Any credential."
	}
	return "Scope: " + code(op.Scope)
}

func (r *apiReference) overview(tags []string) []byte {
	var b strings.Builder
	b.WriteString("# API\n\nEvery operation of the REST API, made from the OpenAPI document of this server: `GET /api/openapi.json`, or " +
		"`wardroom openapi`. Credentials go in the header `Authorization: Bearer`. An error has the shape [ErrorBody](" + schemasPage +
		".md#errorbody); its statuses are those of the document.\n")
	for _, tag := range tags {
		fmt.Fprintf(&b, "\n## [%s](%s-%s.md)\n\n| Operation | What it does |\n|---|---|\n", tag, apiPage, tag)
		for _, op := range r.byTag[tag] {
			fmt.Fprintf(&b, "| [%s](%s-%s.md#%s) | %s |\n", code(op.method+" "+op.path), apiPage, tag, op.anchor(), escape(op.Summary))
		}
	}
	return []byte(b.String())
}

func (r *apiReference) tag(tag string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# API: %s\n", escape(tag))
	for _, op := range r.byTag[tag] {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s\n\n", op.OperationID, code(op.method+" "+op.path), escape(op.Summary))
		if op.Description != "" {
			b.WriteString(escape(op.Description) + "\n\n")
		}
		b.WriteString(op.needs() + "\n")
		r.parameters(&b, op)
		r.body(&b, op)
		r.answers(&b, op)
	}
	return []byte(b.String())
}

func (r *apiReference) parameters(b *strings.Builder, op *apiOperation) {
	if len(op.Parameters) == 0 {
		return
	}
	b.WriteString("\n| Parameter | In | Type | Meaning |\n|---|---|---|---|\n")
	for _, p := range op.Parameters {
		meaning := escape(p.Description)
		if p.Required {
			meaning = strings.TrimSpace("Required. " + meaning)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(p.Name), p.In, p.Schema.words(), meaning)
	}
}

func (r *apiReference) body(b *strings.Builder, op *apiOperation) {
	if op.RequestBody == nil {
		return
	}
	b.WriteString("\n**Body**")
	if !op.RequestBody.Required {
		b.WriteString(" (may be left out)")
	}
	b.WriteString("\n")
	r.media(b, op.RequestBody.Content)
}

// media writes what bodies hold, by their type.
func (r *apiReference) media(b *strings.Builder, content map[string]apiMedia) {
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		s := content[kind].Schema
		fmt.Fprintf(b, "\n%s: %s\n", code(kind), s.words())
		if s != nil {
			properties(b, s)
		}
	}
}

func (r *apiReference) answers(b *strings.Builder, op *apiOperation) {
	statuses := slices.Sorted(maps.Keys(op.Responses))
	var errors []string
	for _, status := range statuses {
		if status >= "400" {
			errors = append(errors, status)
			continue
		}
		fmt.Fprintf(b, "\n**%s** %s\n", status, escape(op.Responses[status].Description))
		r.media(b, op.Responses[status].Content)
	}
	if len(errors) > 0 {
		fmt.Fprintf(b, "\nErrors: %s\n", strings.Join(errors, ", "))
	}
}

func (r *apiReference) schemas() []byte {
	var b strings.Builder
	b.WriteString("# API: bodies\n\nWhat requests and answers are made of, by name.\n")
	for _, name := range slices.Sorted(maps.Keys(r.Components.Schemas)) {
		s := r.Components.Schemas[name]
		fmt.Fprintf(&b, "\n## %s\n", name)
		if s.Description != "" {
			b.WriteString("\n" + escape(s.Description) + "\n")
		}
		if len(s.Properties) == 0 {
			b.WriteString("\n" + s.words() + "\n")
		}
		properties(&b, s)
	}
	return []byte(b.String())
}

// properties writes the fields of an object, those of objects without a name in it included.
func properties(b *strings.Builder, s *apiSchema) {
	rows := fields(nil, "", s, 0)
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n| Field | Type | Meaning |\n|---|---|---|\n")
	for _, row := range rows {
		b.WriteString(row)
	}
}

// deepest bounds how far objects within objects are followed.
const deepest = 6

func fields(rows []string, prefix string, s *apiSchema, depth int) []string {
	if s == nil || s.Ref != "" || depth > deepest {
		return rows
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p, path := s.Properties[name], prefix+name
		meaning := escape(p.Description)
		if slices.Contains(s.Required, name) {
			meaning = strings.TrimSpace("Required. " + meaning)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", code(path), p.words(), meaning))
		rows = fields(rows, path+".", p, depth+1)
		rows = fields(rows, path+"[].", p.Items, depth+1)
		rows = fields(rows, path+".<name>.", p.Additional, depth+1)
	}
	for _, part := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		rows = fields(rows, prefix, part, depth+1)
	}
	return rows
}

// words describes a schema in a few words.
func (s *apiSchema) words() string {
	if s == nil {
		return "anything"
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return fmt.Sprintf("[%s](%s.md#%s)", name, schemasPage, strings.ToLower(name))
	}
	parts := slices.Concat(s.AnyOf, s.OneOf, s.AllOf)
	if len(parts) > 0 && s.Type == nil {
		var names []string
		for _, part := range parts {
			if name := part.words(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " or ")
	}
	text := s.typeName()
	switch {
	case text == "array" && s.Items != nil:
		text = "list of " + s.Items.words()
	case text == "object" && s.Additional != nil && len(s.Properties) == 0 && s.Additional.typeName() != "anything":
		text = "object of " + s.Additional.words()
	}
	if s.Format != "" {
		text += " (" + s.Format + ")"
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			values = append(values, code(fmt.Sprint(value)))
		}
		text += ": " + strings.Join(values, ", ")
	}
	if s.Const != nil {
		text += ": " + code(fmt.Sprint(s.Const))
	}
	if s.Minimum != nil {
		text += fmt.Sprintf(", at least %v", *s.Minimum)
	}
	if s.Maximum != nil {
		text += fmt.Sprintf(", at most %v", *s.Maximum)
	}
	if s.MaxLength != nil {
		text += fmt.Sprintf(", at most %d characters", *s.MaxLength)
	}
	if s.MaxItems != nil {
		text += fmt.Sprintf(", at most %d", *s.MaxItems)
	}
	if s.Default != nil {
		text += ", default " + code(fmt.Sprint(s.Default))
	}
	return text
}

// typeName is the type of a schema.
func (s *apiSchema) typeName() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		var names []string
		for _, name := range t {
			names = append(names, fmt.Sprint(name))
		}
		return strings.Join(names, " or ")
	}
	return "anything"
}
