package cmd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/client"
)

// printError writes an error for a person: code and message, every problem, the request to name in a bug
// report, and what to type next.
func (c *cli) printError(err error) {
	message, problems := describe(err)
	if message == "" {
		return
	}
	paint := c.painter(c.deps.Stderr)
	fmt.Fprintf(c.deps.Stderr, "%s %s\n", paint(styleBad, "error:"), clean(message))
	for _, p := range problems {
		fmt.Fprintf(c.deps.Stderr, "  %s\n", clean(p))
	}
	var api *client.Error
	if errors.As(err, &api) && api.RequestID != "" {
		fmt.Fprintf(c.deps.Stderr, "request: %s\n", clean(api.RequestID))
	}
	if hint := c.hintFor(err); hint != "" {
		fmt.Fprintf(c.deps.Stderr, "hint: %s\n", hint)
	}
}

// describe returns the headline of an error and the list below it.
func describe(err error) (string, []string) {
	var shown *shownError
	if errors.As(err, &shown) {
		return shown.headline, nil
	}
	var api *client.Error
	if errors.As(err, &api) {
		var lines []string
		for _, p := range api.Problems() {
			lines = append(lines, p.String())
		}
		if len(lines) == 1 && strings.Contains(api.Message, api.Problems()[0].Reason) {
			lines = nil // the message says it already
		}
		return err.Error(), lines
	}
	if problems := config.Problems(err); problems != nil {
		var lines []string
		for _, p := range problems {
			lines = append(lines, p.String())
		}
		return fmt.Sprintf("%s: the configuration has %s", core.CodeValidation, count(len(problems), "problem")), lines
	}
	var own *core.Error
	if errors.As(err, &own) {
		var lines []string
		if list, ok := own.Details["errors"].([]core.Problem); ok && len(list) > 1 {
			for _, p := range list {
				lines = append(lines, p.String())
			}
		}
		return err.Error(), lines
	}
	var interrupt *interruption
	if errors.As(err, &interrupt) {
		return interrupt.Error(), nil
	}
	var usage *usageError
	if errors.As(err, &usage) {
		return err.Error(), usage.candidates
	}
	return err.Error(), nil
}

// shownError is an error whose details the command has already shown in a better way, for example beside
// the lines of a file.
type shownError struct {
	headline string
	cause    error
}

func (e *shownError) Error() string { return e.headline }
func (e *shownError) Unwrap() error { return e.cause }

// hintFor returns what to type next, or "".
func (c *cli) hintFor(err error) string {
	var (
		usage     *usageError
		outcome   *outcomeError
		interrupt *interruption
		conn      *client.ConnectionError
		api       *client.Error
		own       *core.Error
	)
	switch {
	case errors.As(err, &interrupt):
		return interrupt.hint
	case errors.As(err, &usage):
		return usage.hint
	case errors.As(err, &outcome):
		return outcome.hint
	case errors.As(err, &conn):
		return connectionHint(conn)
	case errors.As(err, &api):
		return c.apiHint(api)
	case errors.As(err, &own) && own.Code == core.CodeNotFound:
		return c.apiHint(&client.Error{Code: client.CodeNotFound, Details: own.Details})
	}
	return ""
}

// connectionHint returns what to do about a connection that was not made, or was lost.
func connectionHint(e *client.ConnectionError) string {
	var unknown x509.UnknownAuthorityError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(e, &unknown):
		return fmt.Sprintf("if it is the right server, have the authority of its certificate trusted: `wardroom context add NAME --server %s --ca FILE`", clean(e.Server))
	case errors.As(e, &untrusted):
		return "name the server as its certificate does; on its machine `wardroom doctor` looks at the certificate"
	case errors.Is(e, http.ErrSchemeMismatch):
		return "the server speaks no TLS: begin its address with http://"
	case !e.Sent:
		return "is the server running? start one with `wardroom dev`, or name it with --server or " + envServer
	}
	return "look at the server with `wardroom status`"
}

// routeHint returns what to do about a path that the server does not have, since what it is for is not switched on there.
func routeHint(route string) string {
	switch {
	case strings.Contains(route, " /api/auth/keys"), strings.Contains(route, " /api/auth/sessions"):
		return "no security is configured there, as of `wardroom dev`: no caller needs a key; security.authentication.apiKeys.enabled: true changes that"
	}
	return hintVersion
}

// hintVersion is about a server that does not know what a command asks for.
const hintVersion = "the server may be of another version: see `wardroom version`"

// unknownQuery reports whether a server does not know a parameter, as an older one does not that a newer command sends.
func unknownQuery(err error) bool {
	var e *client.Error
	if !errors.As(err, &e) || e.Code != client.CodeValidation {
		return false
	}
	reason, _ := e.Details["reason"].(string)
	return strings.HasPrefix(reason, "unknown query parameter")
}

func (c *cli) apiHint(e *client.Error) string {
	resource, _ := e.Details["resource"].(string)
	switch e.Code {
	case client.CodeUnauthorized:
		return "sign in with `wardroom login`, or give a credential with " + envToken + " or --token-file"
	case client.CodeForbidden:
		if scope, ok := e.Details["requiredScope"].(string); ok {
			return "the credential needs the scope " + clean(scope)
		}
	case client.CodeNotFound:
		switch resource {
		case "question":
			return "list what is open with `wardroom question list`"
		case "route":
			id, _ := e.Details["id"].(string)
			return routeHint(id)
		case "managed agent":
			return "list what there is with `wardroom agent list --managed`"
		case "key":
			return "list what there is with `wardroom auth list-keys`; with --config the whole id is needed"
		case "agent token":
			return "list what there is with `wardroom agent list-tokens`; with --config the whole id is needed"
		}
		if list := c.lists[resource]; list != nil {
			return fmt.Sprintf("list what there is with `%s%s`", list.CommandPath(), strings.TrimPrefix(list.Use, list.Name()))
		}
	case client.CodeValidation:
		field, _ := e.Details["field"].(string)
		reason, _ := e.Details["reason"].(string)
		switch {
		case field == "target.execution.pattern":
			return "list what there is with `wardroom pattern list`"
		case unknownQuery(e), strings.HasPrefix(e.Message, "invalid request body: ") && strings.HasPrefix(reason, "unknown field"):
			return hintVersion
		}
	case client.CodeConflict:
		id, _ := e.Details["id"].(string)
		status, _ := e.Details["status"].(string)
		switch {
		case resource == "pattern" && status == "read-only":
			name, _, _ := strings.Cut(id, "@")
			return fmt.Sprintf("copy it with `wardroom pattern get %s -o jsonpath=.definition > FILE`, give it a name and a version in FILE, and store it with `wardroom pattern put FILE`", clean(name))
		case resource == "pattern":
			return "replace a version with `wardroom pattern put FILE`"
		case resource == "managed agent" && id != "":
			return managedHint(e, clean(id))
		case resource == "thread" && id != "":
			return fmt.Sprintf("look at it with `wardroom thread get %s`", clean(id))
		case resource == "webhook" && id != "":
			return fmt.Sprintf("look at it with `wardroom webhook get %s`", clean(id))
		case resource == "workspace" && id != "":
			return fmt.Sprintf("look at it with `wardroom workspace get %s`", clean(id))
		case resource == "question" && id != "":
			return fmt.Sprintf("see what became of it with `wardroom question show %s`", clean(id))
		case resource == "execution" && id != "":
			return fmt.Sprintf("look at it with `wardroom execution get %s`", clean(id))
		}
	case client.CodeTimeout:
		if id := e.ExecutionID(); id != "" {
			return fmt.Sprintf("look at it with `wardroom execution get %s`", clean(id))
		}
	case client.CodeNoAgents:
		if reason, _ := e.Details["reason"].(string); reason == "no_runtime" {
			return "see where agents can run with `wardroom runtime list`"
		} else if reason == "runtime_unavailable" {
			return "see why with `wardroom runtime list` and `wardroom plugin list`"
		}
		return "see who is connected with `wardroom agent list`; with --async an execution waits for agents"
	case client.CodeRateLimited:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("try again in %s", e.RetryAfter)
		}
	}
	if reason, _ := e.Details["reason"].(string); reason == "agent_unreachable" {
		return "it gets back by itself once its host does; look at it with `wardroom agent list --managed`"
	}
	if e.Status == http.StatusServiceUnavailable {
		return "see what is wrong with `wardroom status`"
	}
	return ""
}

// managedHint returns what to do about a managed agent that cannot do what it was asked for.
func managedHint(e *client.Error, id string) string {
	switch e.Details["runtimeCode"] {
	case "BLOCKED":
		return fmt.Sprintf("see what it asks with `wardroom agent get %s`, answer with `wardroom agent answer %s`", id, id)
	case "NOT_RUNNING":
		return fmt.Sprintf("start it again with `wardroom agent restart %s`", id)
	}
	return fmt.Sprintf("look at it with `wardroom agent get %s`", id)
}
