package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// Route declares one operation. The table of routes feeds the router, the OpenAPI document, authorization
// and the metrics, so that none of them can know of an operation the others do not.
type Route struct {
	Method      string
	Path        string // parameters as {name}
	OperationID string
	Summary     string
	Description string
	Tag         string

	// Action (for example executions.create), Resource (executions) and Scope (executions:create) are what
	// authorization is asked with.
	Action   string
	Resource string
	Scope    string
	// Public reports whether the operation is open to everyone; nil: never.
	Public func(Config) bool
	// Authenticate finds out who calls, in place of Options.Authenticate; nil: that does.
	Authenticate func(c *call) (core.Principal, error)
	// Probe marks what supervisors ask, as often as they like: it is not counted by limits of rate.
	Probe bool
	// Unrecorded marks an answer that shows why nothing can be recorded: it is given even if it cannot be recorded.
	Unrecorded bool

	Query []Param
	// OpenQuery passes over parameters that are not declared: others choose them.
	OpenQuery bool
	// Page marks what browsers are sent to: errors are pages for those that ask for text/html.
	Page bool
	// Secret marks an answer that shows a secret: it is not compressed.
	Secret    bool
	Body      *Body // nil: the operation takes no body
	Responses []Response
	Fails     []int // statuses of errors beyond those every operation may give

	// Creates marks an operation that honours Idempotency-Key. Recover then renders the answer anew from
	// the resource that the first request made, when the process died before it answered.
	Creates bool
	Recover func(c *call, resourceID string) (answer, error)

	// Edits marks an operation that honours If-Match.
	Edits bool

	// Exactly one of them is set. A Handle returns its answer; a Stream writes it. Resumes marks streams
	// that understand Last-Event-ID.
	Handle  func(c *call) (answer, error)
	Stream  func(c *call) error
	Resumes bool
	// Socket marks a Stream that is a WebSocket, Detached one that returns while its connection goes on elsewhere.
	Socket, Detached bool
}

// read reports whether the operation is a read with one answer, which gets an entity tag.
func (r *Route) read() bool { return r.Method == http.MethodGet && r.Handle != nil }

// ParamType is the type of a query parameter.
type ParamType string

// Types of query parameters.
const (
	ParamString  ParamType = "string"
	ParamInteger ParamType = "integer"
	ParamBoolean ParamType = "boolean"
	ParamTime    ParamType = "date-time"
	ParamList    ParamType = "list"  // comma-separated
	ParamPairs   ParamType = "pairs" // name=value; may be given several times
	ParamKeys    ParamType = "keys"  // any parameter NAME.KEY; each may be given once
)

// Param declares a query parameter.
type Param struct {
	Name     string
	Type     ParamType
	Default  string
	Min, Max int64 // of an integer; both 0: unbounded
	MaxBytes int   // of a text; 0: 1024
	Enum     []string
	// Selects are the fields of rows that it selects by, each with dots between its names; nil: the one of its name. Who may
	// not read one of them in clear is refused, or could find out what it is by asking.
	Selects []string
	Doc     string
}

// Body declares a request body.
type Body struct {
	JSON     any    // a pointer to the struct it is decoded into, for the document
	YAML     bool   // YAML text is taken too
	Form     bool   // it is a form (application/x-www-form-urlencoded), and not JSON
	Optional bool   // no body is the same as {}
	Limit    string // which limit applies: "" the general one, "definition" that of definitions, limitHook that of triggers, limitSignIn that of strangers
}

// Response declares a success answer.
type Response struct {
	Status      int
	Body        any    // value of the answer's type; nil for none
	ContentType string // empty: application/json
	Doc         string
	Location    bool // carries a Location header
}

// check returns what is wrong with the declaration of a route.
func (r *Route) check(resources map[string]resource) error {
	var errs []error
	missing := func(bad bool, what string) {
		if bad {
			errs = append(errs, fmt.Errorf("route %s %s: %s", r.Method, r.Path, what))
		}
	}
	missing(r.Method == "" || !strings.HasPrefix(r.Path, "/"), "has no method or path")
	missing(r.OperationID == "", "has no operation id")
	missing(r.Action == "", "has no action: authorization could not be asked")
	missing(r.Resource == "", "has no resource: authorization could not be asked")
	missing(resources[r.Resource].category == "", "is of a resource that no Part and no table has")
	missing(r.Scope == "", "has no scope: authorization could not be asked")
	missing(r.Summary == "" || r.Tag == "", "has no summary or tag")
	missing((r.Handle == nil) == (r.Stream == nil), "needs either a handler or a stream")
	missing(len(r.Responses) == 0, "declares no response")
	missing(r.Creates && r.Method != http.MethodPost, "only a POST creates")
	missing(r.Creates && r.Handle != nil && r.Recover == nil, "creates, but cannot render its answer anew")
	missing(r.Body != nil && r.Body.JSON == nil, "declares a body without its type")
	return errors.Join(errs...)
}

// checkRoutes returns what is wrong with a table.
func checkRoutes(routes []Route, resources map[string]resource) error {
	var errs []error
	ids, paths := map[string]bool{}, map[string]bool{}
	for i := range routes {
		r := &routes[i]
		errs = append(errs, r.check(resources))
		if ids[r.OperationID] {
			errs = append(errs, fmt.Errorf("operation id %s is used twice", r.OperationID))
		}
		if key := r.Method + " " + r.Path; paths[key] {
			errs = append(errs, fmt.Errorf("route %s is declared twice", key))
		} else {
			paths[key] = true
		}
		ids[r.OperationID] = true
	}
	return errors.Join(errs...)
}

// routerPath turns {name} into the router's :name.
func (r *Route) routerPath() string {
	return strings.NewReplacer("{", ":", "}", "").Replace(r.Path)
}

// params lists the names of the path's parameters.
func (r *Route) params() []string {
	var names []string
	for part := range strings.SplitSeq(r.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// always and the like are values of Route.Public.
func always(Config) bool          { return true }
func metricsPublic(c Config) bool { return c.MetricsPublic }
