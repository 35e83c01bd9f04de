package appliance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api/apitest"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/webhook"
)

// interfaceWorld is what proofs look at: servers that have done everything that the interface tells of.
type interfaceWorld struct {
	t        *testing.T
	headings map[string]bool
	api      *client.Client
	base     string // URL of a server without authentication
	doc      apitest.Contract
	root     *cobra.Command
	settled  string                     // decisions, with single spaces; empty where they are not there
	tests    map[string]map[string]bool // by folder
	proved   map[string]error           // what facts came to, of which several lines may name one

	deliveries []interfaceDelivery
	series     map[string]*dto.MetricFamily
	config     *configWorld
	frames     *frameWorld
	sockets    map[string]map[string]any // data of /ws/events, by event
	stream     map[string]map[string]any // data of an execute stream, by event
	secured    *secured                  // a server with keys, rates and an audit trail
}

// interfaceDelivery is a request that a webhook made.
type interfaceDelivery struct {
	event  webhook.Event
	method string
	header http.Header
	body   []byte
}

// interfaceProofs are the kinds of proofs.
var interfaceProofs = map[string]func(w *interfaceWorld, what string) error{
	"see": (*interfaceWorld).see, "settled": (*interfaceWorld).isSettled, "test": (*interfaceWorld).test,
	"paths": (*interfaceWorld).paths, "query": (*interfaceWorld).query, "body": (*interfaceWorld).body,
	"answer": (*interfaceWorld).answer, "status": (*interfaceWorld).status, "stream": (*interfaceWorld).streams,
	"media": (*interfaceWorld).media, "enum": (*interfaceWorld).enum, "chart": (*interfaceWorld).chart,
	"nochart": (*interfaceWorld).noChart, "kinds": (*interfaceWorld).kinds, "cli": (*interfaceWorld).cli,
	"config": (*interfaceWorld).configKeys, "read": (*interfaceWorld).configRead, "event": (*interfaceWorld).event,
	"envelope": (*interfaceWorld).envelope, "header": (*interfaceWorld).header, "metric": (*interfaceWorld).metric,
	"frame": (*interfaceWorld).frame, "data": (*interfaceWorld).data, "prove": (*interfaceWorld).prove,
}

// see: the row is about what other rows promise.
func (w *interfaceWorld) see(heading string) error {
	if !w.headings[heading] {
		return errors.New("there is no such heading")
	}
	return nil
}

// isSettled: the interface leaves it open, and it was decided in these words.
func (w *interfaceWorld) isSettled(text string) error {
	if w.settled != "" && !strings.Contains(w.settled, strings.Join(strings.Fields(text), " ")) {
		return errors.New("no decision has these words")
	}
	return nil
}

// test: FOLDER NAME, a test that runs with the others of its package.
func (w *interfaceWorld) test(what string) error {
	folder, name, _ := strings.Cut(what, " ")
	if w.tests[folder] == nil {
		found, err := declaredTests(filepath.Join("..", folder))
		if err != nil {
			return err
		}
		w.tests[folder] = found
	}
	if !w.tests[folder][name] {
		return errors.New("there is no such test")
	}
	return nil
}

// paths: the server has routes below a path.
func (w *interfaceWorld) paths(prefix string) error {
	found, _ := w.doc.Root["paths"].(map[string]any)
	for path := range found {
		if strings.HasPrefix(path, prefix) {
			return nil
		}
	}
	a, err := http.DefaultTransport.RoundTrip(w.request(http.MethodGet, prefix, ""))
	if err != nil {
		return err
	}
	_ = a.Body.Close()
	if a.StatusCode == http.StatusNotFound {
		return errors.New("nothing is there")
	}
	return nil
}

// request makes a request to the server without authentication.
func (w *interfaceWorld) request(method, path, body string) *http.Request {
	r, err := http.NewRequestWithContext(context.Background(), method, w.base+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Close = true
	return r
}

// operation cuts METHOD PATH off, and finds it in the document.
func (w *interfaceWorld) operation(what string) (op map[string]any, rest []string, err error) {
	words := strings.Fields(what)
	op = w.doc.At(w.doc.Root, "paths", words[1], strings.ToLower(words[0]))
	if op == nil {
		return nil, nil, errors.New("there is no such operation")
	}
	return op, words[2:], nil
}

// query: METHOD PATH PARAMETER...
func (w *interfaceWorld) query(what string) error {
	op, params, err := w.operation(what)
	if err != nil {
		return err
	}
	var problems []error
	for _, p := range params {
		problems = append(problems, named(p, w.doc.Parameter(op, p)))
	}
	return errors.Join(problems...)
}

// body: METHOD PATH FIELD...
func (w *interfaceWorld) body(what string) error {
	op, fields, err := w.operation(what)
	if err != nil {
		return err
	}
	return w.fields(w.doc.At(op, "requestBody", "content", "application/json", "schema"), fields, false)
}

// answer: METHOD PATH STATUS FIELD...
func (w *interfaceWorld) answer(what string) error {
	op, words, err := w.operation(what)
	if err != nil {
		return err
	}
	schema := w.doc.At(op, "responses", words[0], "content", "application/json", "schema")
	if schema == nil {
		return fmt.Errorf("it has no JSON at %s", words[0])
	}
	return w.fields(schema, words[1:], true)
}

func (w *interfaceWorld) fields(schema map[string]any, fields []string, answer bool) error {
	var problems []error
	for _, f := range fields {
		problems = append(problems, named(f, w.doc.Field(schema, f, answer)))
	}
	return errors.Join(problems...)
}

// status: METHOD PATH STATUS.
func (w *interfaceWorld) status(what string) error {
	op, words, err := w.operation(what)
	if err == nil && w.doc.At(op, "responses", words[0]) == nil {
		err = errors.New("it does not answer so")
	}
	return err
}

// streams: METHOD PATH STATUS, with an event stream.
func (w *interfaceWorld) streams(what string) error {
	op, words, err := w.operation(what)
	if err == nil && w.doc.At(op, "responses", words[0], "content", "text/event-stream") == nil {
		err = errors.New("it has no event stream")
	}
	return err
}

// media: METHOD PATH TYPE, of the request or of the answer.
func (w *interfaceWorld) media(what string) error {
	op, words, err := w.operation(what)
	if err == nil && w.doc.At(op, "requestBody", "content", words[0]) == nil && w.doc.At(op, "responses", "200", "content", words[0]) == nil {
		err = errors.New("it has no such media type")
	}
	return err
}

// enum: SCHEMA FIELD WORD...
func (w *interfaceWorld) enum(what string) error {
	words := strings.Fields(what)
	list, _ := w.doc.At(w.doc.Root, "components", "schemas", words[0], "properties", words[1])["enum"].([]any)
	for _, word := range words[2:] {
		if !slices.Contains(list, any(word)) {
			return fmt.Errorf("%s is not one of %v", word, list)
		}
	}
	return nil
}

// chart: a definition that the server takes, with \n between its lines.
func (w *interfaceWorld) chart(what string) error {
	check, err := w.api.ValidatePattern(context.Background(), strings.ReplaceAll(what, `\n`, "\n"))
	if err == nil && !check.Valid {
		err = fmt.Errorf("it is not valid: %v", check.Problems)
	}
	return err
}

// noChart: a definition that the server refuses.
func (w *interfaceWorld) noChart(what string) error {
	check, err := w.api.ValidatePattern(context.Background(), strings.ReplaceAll(what, `\n`, "\n"))
	if err == nil && check.Valid {
		err = errors.New("it is valid")
	}
	return err
}

// kinds: persisted EVENT..., all of them.
func (w *interfaceWorld) kinds(what string) error {
	var has []string
	for _, kind := range core.PersistedThreadEvents {
		has = append(has, string(kind))
	}
	want := strings.Fields(what)[1:]
	slices.Sort(has)
	slices.Sort(want)
	for _, kind := range want {
		if !slices.Contains(has, kind) {
			return fmt.Errorf("%s is not one of %v", kind, has)
		}
	}
	return nil
}

// cli: COMMAND... --FLAG:TYPE=DEFAULT...
func (w *interfaceWorld) cli(what string) error {
	var path, flags []string
	for _, word := range strings.Fields(what) {
		if strings.HasPrefix(word, "--") {
			flags = append(flags, word[2:])
		} else {
			path = append(path, word)
		}
	}
	found, rest, err := w.root.Find(path)
	if err != nil || len(rest) > 0 || !found.Runnable() {
		return fmt.Errorf("there is no command %v: %w", path, err)
	}
	var problems []error
	for _, flag := range flags {
		name, typ, _ := strings.Cut(flag, ":")
		typ, def, _ := strings.Cut(typ, "=")
		switch f := found.Flags().Lookup(name); {
		case f == nil:
			problems = append(problems, fmt.Errorf("it has no --%s", name))
		case f.Value.Type() != typ || f.DefValue != def:
			problems = append(problems, fmt.Errorf("--%s is a %s with the default %q", name, f.Value.Type(), f.DefValue))
		}
	}
	return errors.Join(problems...)
}

// command runs the command line, and returns what it printed and its exit code.
func (w *interfaceWorld) command(env map[string]string, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = cmd.Execute(context.Background(), commandDeps(env, &out, &errs), args)
	return out.String(), errs.String(), code
}

// event: TYPE FIELD..., in each delivery of the type.
func (w *interfaceWorld) event(what string) error { return w.delivered(what, false) }

// data: TYPE FIELD..., each delivery of the type, which has nothing beside them.
func (w *interfaceWorld) data(what string) error { return w.delivered(what, true) }

func (w *interfaceWorld) delivered(what string, strict bool) error {
	words := strings.Fields(what)
	seen := 0
	for _, d := range w.deliveries {
		if d.event.Type != words[0] {
			continue
		}
		seen++
		var data map[string]any
		if err := json.Unmarshal(d.event.Data, &data); err != nil {
			return err
		}
		delete(data, "test") // of samples
		if err := compareFields(data, words[1:], strict); err != nil {
			return fmt.Errorf("%s: %w", d.body, err)
		}
	}
	if seen == 0 {
		return errors.New("none was delivered")
	}
	return nil
}

// envelope: FIELD..., of the body of each delivery.
func (w *interfaceWorld) envelope(what string) error {
	for _, d := range w.deliveries {
		var body any
		if err := json.Unmarshal(d.body, &body); err != nil {
			return err
		}
		if err := compareFields(body, strings.Fields(what), true); err != nil {
			return fmt.Errorf("%s: %w", d.body, err)
		}
	}
	return nil
}

// header: POST NAME=PATTERN of each first request, or retry NAME=PATTERN of each later one.
func (w *interfaceWorld) header(what string) error {
	which, rest, _ := strings.Cut(what, " ")
	name, pattern, _ := strings.Cut(rest, "=")
	form := regexp.MustCompile(pattern)
	seen := 0
	for _, d := range w.deliveries {
		retry := d.header.Get("X-Service-Retry-Count") != ""
		if retry != (which == "retry") || d.method != http.MethodPost {
			continue
		}
		seen++
		if got := d.header.Get(name); !form.MatchString(got) {
			return fmt.Errorf("it is %q at %s", got, d.body)
		}
	}
	if seen == 0 {
		return errors.New("there was no such request")
	}
	return nil
}

// metric: NAME TYPE LABEL..., of the registry behind /api/metrics.
func (w *interfaceWorld) metric(what string) error {
	words := strings.Fields(what)
	family := w.series[words[0]]
	if family == nil {
		return errors.New("there is no such series")
	}
	if got := strings.ToLower(family.GetType().String()); got != words[1] {
		return fmt.Errorf("it is a %s", got)
	}
	for _, m := range family.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName())
		}
		want := slices.Sorted(slices.Values(words[2:]))
		if slices.Sort(labels); !slices.Equal(labels, want) {
			return fmt.Errorf("it has the labels %v", labels)
		}
	}
	return nil
}

// call sends a request, and returns the answer's status, header and JSON.
func (w *interfaceWorld) call(base, token, method, path, body string) (status int, header http.Header, answer map[string]any, err error) {
	r, err := http.NewRequestWithContext(context.Background(), method, base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Close = true
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &answer)
	}
	return a.StatusCode, a.Header, answer, err
}
