package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// object is a JSON object of the document.
type object = schema.Object

// document holds what the OpenAPI document says beside the operations.
type document struct {
	version, baseURL string
	open             bool // callers need no credential
	sessions         bool // browsers may be signed in
	secure           bool // browsers come by https
}

// shownVersion returns the version for the document: everybody may read it, and only those who signed in learn that of
// the server where callers prove who they are.
func (d document) shownVersion() string {
	if d.open {
		return d.version
	}
	return "unspecified"
}

// renderDocument makes the OpenAPI 3.1 document of a route table.
func renderDocument(routes []Route, d document) []byte {
	schemas := &schema.Set{Defs: object{}, Names: schemaNames, InRequests: requestNames}
	schemas.Of(reflect.TypeFor[errorBody](), false)
	paths := object{}
	for i := range routes {
		r := &routes[i]
		item, _ := paths[r.Path].(object)
		if item == nil {
			item = object{}
			paths[r.Path] = item
		}
		item[strings.ToLower(r.Method)] = operation(r, schemas, d)
	}
	doc, err := json.Marshal(object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info": object{
			"title":       "Wardroom",
			"version":     d.shownVersion(),
			"description": "Orchestrates AI agents: stores patterns, runs them on connected agents, keeps every outcome.",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":  []any{object{"url": cmp.Or(d.baseURL, "/")}},
		"security": d.security(core.ScopeAny),
		"paths":    paths,
		"components": object{
			"schemas":         schemas.Defs,
			"headers":         sharedHeaders,
			"securitySchemes": d.schemes(),
		},
	})
	if err != nil {
		panic(err) // strings, numbers, maps and lists only
	}
	return doc
}

// schemes are the ways to say who one is.
func (d *document) schemes() object {
	schemes := object{
		"bearer": object{"type": "http", "scheme": "bearer", "description": "An API key. Operations name the scope that it must have; " +
			"admin stands for all, read for those that end in :read, execute for executions:create and executions:read."},
	}
	if d.sessions {
		schemes["session"] = object{"type": "apiKey", "in": "cookie", "name": core.SessionCookie(d.secure, ""),
			"description": "The session of a browser that is signed in. Requests that change anything also carry its csrfToken, which " +
				"GET /api/session tells, in the header X-CSRF-Token. Where people sign in by plain HTTP, on loopback, the port is " +
				"the end of the name."}
	}
	return schemes
}

// security returns the security requirements of an operation that needs the scope.
func (d *document) security(scope string) []any {
	scopes := []any{}
	if scope != core.ScopeAny {
		scopes = append(scopes, scope)
	}
	list := []any{object{"bearer": scopes}}
	if d.sessions {
		list = append(list, object{"session": scopes})
	}
	if d.open {
		list = append(list, object{})
	}
	return list
}

func operation(r *Route, schemas *schema.Set, d document) object {
	op := object{
		"operationId": r.OperationID, "summary": r.Summary, "tags": []any{r.Tag},
		"parameters": parameters(r), "responses": responses(r, schemas),
		"x-action": r.Action, "x-resource": r.Resource, "x-scope": r.Scope, "security": d.security(r.Scope),
	}
	if r.Description != "" {
		op["description"] = r.Description
	}
	if r.Public != nil && r.Public(Config{}) {
		op["security"] = []any{}
	}
	if b := r.Body; b != nil {
		typ := "application/json"
		if b.Form {
			typ = formType
		}
		content := object{typ: object{
			"schema": schemas.Of(reflect.TypeOf(b.JSON).Elem(), true),
		}}
		if b.YAML {
			content["application/x-yaml"] = object{"schema": object{"type": "string"}}
		}
		op["requestBody"] = object{"required": !b.Optional, "content": content}
	}
	return op
}

func parameters(r *Route) []any {
	list := []any{}
	add := func(name, in, doc string, required bool, as object) {
		p := object{"name": name, "in": in, "schema": as}
		if required {
			p["required"] = true
		}
		if doc != "" {
			p["description"] = doc
		}
		list = append(list, p)
	}
	for _, name := range r.params() {
		add(name, "path", "", true, object{"type": "string", "minLength": 1, "maxLength": longest(name)})
	}
	for i := range r.Query {
		p := &r.Query[i]
		add(p.Name, "query", p.Doc, false, p.schema())
	}
	if r.Creates {
		add("Idempotency-Key", "header",
			"A second request with the same key and body within 24 hours gets the first one's answer.", false,
			object{"type": "string", "minLength": 1, "maxLength": maxIdempotencyKey})
	}
	if r.Resumes {
		add("Last-Event-ID", "header", "Resume after this event.", false, object{"type": "string"})
	}
	if r.Edits {
		add("If-Match", "header", "ETag of the answer to a GET of it: 412 where it is another by now, and nothing is changed. What it only counts is not compared.", false,
			object{"type": "string"})
	}
	if r.read() {
		add("If-None-Match", "header", "ETags of answers that the caller has: 304 without a body where one of them is still right.", false,
			object{"type": "string"})
	}
	add("X-Request-Id", "header", "Names the request in the answer and in the log.", false,
		object{"type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"})
	return list
}

func (p *Param) schema() object {
	s := object{}
	switch p.Type {
	case ParamInteger:
		s["type"], s["minimum"] = "integer", p.Min
		if p.Max > 0 {
			s["maximum"] = p.Max
		}
		if n, err := strconv.Atoi(p.Default); err == nil {
			s["default"] = n
		}
	case ParamBoolean:
		s["type"], s["default"] = "boolean", p.Default == "true"
	case ParamPairs:
		s["type"], s["items"] = "array", object{"type": "string", "pattern": "^[^=]+=", "maxLength": p.maxLength()}
	case ParamKeys:
		s["type"], s["maxLength"] = "string", core.MaxIndexedBytes
	case ParamTime:
		s["type"], s["format"] = "string", "date-time"
	default:
		s["type"], s["maxLength"] = "string", p.maxLength()
		if len(p.Enum) > 0 {
			s["enum"] = p.Enum
		}
	}
	return s
}

// everyFails are the errors that any operation may give.
var everyFails = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusMisdirectedRequest, http.StatusTooManyRequests,
	http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// sharedHeaders are the headers of answers that many operations give.
var sharedHeaders = object{
	"X-RateLimit-Limit": object{"schema": object{"type": "integer"},
		"description": "Of the limit that is nearest to its end; as the two below, absent where requests are not limited by rate."},
	"X-RateLimit-Remaining": object{"schema": object{"type": "integer"}, "description": "Requests that it still lets pass."},
	"X-RateLimit-Reset":     object{"schema": object{"type": "integer"}, "description": "When it is full again, in seconds since 1970."},
	"Retry-After":           object{"schema": object{"type": "integer"}, "description": "Seconds after which it is worth another try."},
	"WWW-Authenticate":      object{"schema": object{"type": "string"}, "description": "How callers say who they are."},
	"Idempotent-Replayed": object{"schema": object{"type": "boolean"},
		"description": "This is the answer to an earlier request with the same Idempotency-Key."},
}

// withShared returns headers together with shared ones.
func withShared(headers object, names ...string) object {
	all := maps.Clone(headers)
	for _, name := range names {
		all[name] = object{"$ref": "#/components/headers/" + name}
	}
	return all
}

func responses(r *Route, schemas *schema.Set) object {
	all := object{}
	headers := object{
		"X-Request-Id":      object{"schema": object{"type": "string"}},
		"X-Service-Version": object{"schema": object{"type": "string"}},
	}
	limits := []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
	if r.Probe {
		limits = nil
	}
	for i := range r.Responses {
		resp := &r.Responses[i]
		own := withShared(headers, limits...)
		if r.Creates {
			own = withShared(own, "Idempotent-Replayed")
		}
		if resp.Location {
			own["Location"] = object{"schema": object{"type": "string"}}
		}
		out := object{"description": resp.Doc, "headers": own}
		if resp.Body != nil {
			typ := cmp.Or(resp.ContentType, "application/json")
			content := object{typ: object{"schema": schemas.Of(reflect.TypeOf(resp.Body), false)}}
			// Answers of one status may differ in their type.
			if before, ok := all[strconv.Itoa(resp.Status)].(object); ok {
				out["description"] = before["description"].(string) + " " + resp.Doc
				maps.Copy(content, before["content"].(object))
			}
			out["content"] = content
		}
		all[strconv.Itoa(resp.Status)] = out
	}
	if r.read() {
		all[strconv.Itoa(http.StatusNotModified)] = object{"description": "The caller has this answer, by If-None-Match.", "headers": headers}
	}
	fails := slices.Concat(everyFails, r.Fails)
	if r.Body != nil { // it may arrive too slowly, be too large, or be something else
		fails = append(fails, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType)
	}
	for _, status := range fails {
		if _, taken := all[strconv.Itoa(status)]; !taken {
			content := object{"application/json": object{
				"schema":  object{"$ref": "#/components/schemas/ErrorBody"},
				"example": errorExample(status),
			}}
			if r.Page {
				content[pageMedia] = object{"schema": object{"type": "string"}}
			}
			own := headers
			switch status {
			case http.StatusUnauthorized:
				own = withShared(headers, "WWW-Authenticate")
			case http.StatusTooManyRequests:
				own = withShared(withShared(headers, limits...), "Retry-After")
			case http.StatusServiceUnavailable:
				own = withShared(headers, "Retry-After")
			}
			all[strconv.Itoa(status)] = object{"description": http.StatusText(status), "headers": own, "content": content}
		}
	}
	return all
}

// errorExample shows what an error of this status looks like.
func errorExample(status int) any {
	example := func(code core.Code, message string, details object) any {
		return object{"requestId": "req_01JGFJJZ8N4Q1W0000000000AB",
			"error": object{"code": code, "message": message, "details": details}}
	}
	switch status {
	case http.StatusNotFound:
		return example(core.CodeNotFound, `pattern "x" does not exist`, object{"resource": "pattern", "id": "x"})
	case http.StatusUnprocessableEntity:
		return example(core.CodeValidation, "type: the command claude is not installed",
			object{"field": "type", "reason": "the command claude is not installed", "runtimeCode": "CLI_NOT_FOUND",
				"errors": []any{object{"path": "type", "reason": "the command claude is not installed"}}})
	case http.StatusBadGateway:
		return example(core.CodeInternal, "the network wardroom-agents cannot be reached",
			object{"reason": "runtime", "runtimeCode": "NETWORK_ERROR"})
	case http.StatusPreconditionFailed:
		return example(core.CodeConflict, "it is not what If-Match names any more: read it again, and make your change to what it is now",
			object{"field": "If-Match", "reason": "names another state"})
	case http.StatusConflict:
		return example(core.CodeConflict, "the execution is completed",
			object{"resource": "execution", "id": "exec_01JGFJJZ8N4Q1W0000000000AB", "status": "completed"})
	case http.StatusRequestTimeout:
		return example(core.CodeTimeout, "the execution ran over its 1000 ms", object{"timeoutMs": 1000,
			"executionId": "exec_01JGFJJZ8N4Q1W0000000000AB"})
	case http.StatusUnauthorized:
		return example(core.CodeUnauthorized, "a credential is required", object{"reason": "missing"})
	case http.StatusMisdirectedRequest:
		e := foreignHost("evil.example")
		return example(e.Code, e.Message, e.Details)
	case http.StatusForbidden:
		return example(core.CodeForbidden, "not allowed", object{"action": "patterns.create"})
	case http.StatusTooManyRequests:
		return example(core.CodeRateLimited, "too many requests",
			object{"limit": 100, "windowSeconds": 60, "retryAfter": 5})
	case http.StatusInternalServerError:
		return example(core.CodeInternal, "internal error", object{})
	case http.StatusServiceUnavailable:
		return example(core.CodeNoAgents, "3 agents are needed, 1 is connected",
			object{"required": 3, "available": 1, "capabilities": []any{"classify"}})
	}
	const reason = "must be from 1 to 100, not 0"
	return example(core.CodeValidation, "invalid query: limit: "+reason, object{
		"field": "limit", "reason": reason, "errors": []any{object{"path": "limit", "reason": reason}},
	})
}
