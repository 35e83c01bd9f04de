package appliance_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
	"github.com/wardroom/wardroom/sdk/wire"
)

// interfaceFacts are proofs that need more than a look.
var interfaceFacts = map[string]func(w *interfaceWorld, words []string) error{
	"runtimeServerPort": (*interfaceWorld).runtimeServerPort,
	"agentTypes":        (*interfaceWorld).agentTypes,
	"definitionRead":    (*interfaceWorld).definitionRead,
	"webhookDefaults":   (*interfaceWorld).webhookDefaults,
	"builtin":           (*interfaceWorld).builtin,
	"executeStream":     (*interfaceWorld).executeStream,
	"priorities":        (*interfaceWorld).priorities,
	"eventSocket":       (*interfaceWorld).eventSocket,
	"runtimeMetrics":    (*interfaceWorld).runtimeMetrics,
	"paging":            (*interfaceWorld).paging,
	"refusals":          (*interfaceWorld).refusals,
	"createKey":         (*interfaceWorld).createKey,
	"createToken":       (*interfaceWorld).createToken,
	"auditCommands":     (*interfaceWorld).auditCommands,
	"auditCategories":   (*interfaceWorld).auditCategories,
	"scopes":            (*interfaceWorld).scopes,
	"environment":       (*interfaceWorld).environment,
	"deliveryIds":       (*interfaceWorld).deliveryIDs,
	"signature":         (*interfaceWorld).signature,
	"code":              (*interfaceWorld).code,
	"threadStream":      (*interfaceWorld).threadStream,
	"timeout":           (*interfaceWorld).timeoutNamed,
	"webhookTypes":      (*interfaceWorld).webhookTypes,
	"rates":             (*interfaceWorld).rates,
	"frameEnvelope":     (*interfaceWorld).frameEnvelope,
}

// prove: FACT WORD...
func (w *interfaceWorld) prove(what string) error {
	words := strings.Fields(what)
	fact := interfaceFacts[words[0]]
	if fact == nil {
		return errors.New("there is no such fact")
	}
	if _, ok := w.proved[what]; !ok {
		w.proved[what] = fact(w, words[1:])
	}
	return w.proved[what]
}

func (w *interfaceWorld) runtimeServerPort([]string) error {
	o, err := runtimeserver.FromEnv(func(string) string { return "" }, runtimeserver.DefaultPort)
	if err == nil && o.Listen != "127.0.0.1:3100" {
		err = fmt.Errorf("it listens on %s", o.Listen)
	}
	return err
}

// agentTypes: the literals are known, and another word is not.
func (w *interfaceWorld) agentTypes([]string) error {
	for kind, known := range map[string]bool{"claude": true, "codex": true, "gemini": true, "another": false} {
		status, _, answer, err := w.call(w.base, "", http.MethodPost, "/api/managed-agents", fmt.Sprintf(`{"type":%q}`, kind))
		if err != nil || known == (status == http.StatusBadRequest) {
			return fmt.Errorf("%s: %d %v %w", kind, status, answer, err)
		}
	}
	return nil
}

func (w *interfaceWorld) definitionRead([]string) error {
	text := "name: read-back\nversion: 1.0.0\ninput: {text: {type: string, required: true}}\nagents: {capabilities: [a, b], min: 2}\n" +
		"aggregation: {strategy: voting, method: majority}\noutput: {label: $vote.result, sure: $vote.confidence}\n"
	if _, err := w.api.CreatePattern(context.Background(), client.PatternInput{Definition: text}); err != nil {
		return err
	}
	_, _, answer, err := w.call(w.base, "", http.MethodGet, "/api/patterns/read-back", "")
	if err != nil {
		return err
	}
	if err := compareFields(answer, []string{
		"definition.input.text.type:string", "definition.input.text.required:boolean", "definition.agents.capabilities[]:string",
		"definition.agents.min:number", "definition.aggregation.strategy:string", "definition.aggregation.method:string",
	}, false); err != nil {
		return err
	}
	if got, _ := lookUp(answer, "definition.output"); fmt.Sprint(got) != "map[label:$vote.result sure:$vote.confidence]" {
		return fmt.Errorf("output is %v", got)
	}
	return nil
}

func (w *interfaceWorld) webhookDefaults([]string) error {
	hook, err := w.api.CreateWebhook(context.Background(), client.WebhookSpec{URL: "http://127.0.0.1:1/", Events: []string{"pattern.deleted"}})
	if err != nil {
		return err
	}
	if hook.Retries != 3 || hook.Timeout != 30000 || !hook.Enabled {
		return fmt.Errorf("%d retries, %d ms, enabled: %v", hook.Retries, hook.Timeout, hook.Enabled)
	}
	return w.api.DeleteWebhook(context.Background(), hook.ID)
}

// webhookTypes: all types that there are can be asked for, and others cannot.
func (w *interfaceWorld) webhookTypes([]string) error {
	for kind, want := range map[string]int{
		"*": 201, "thread.blocked": 201, "thread.completed": 201, "thread.failed": 201, "managed_agent.blocked": 201,
		"managed_agent.login_required": 201, "managed_agent.failed": 201, "thread.unknown": 400,
	} {
		status, _, answer, err := w.call(w.base, "", http.MethodPost, "/api/webhooks", fmt.Sprintf(`{"url":"http://127.0.0.1:1/","events":[%q],"enabled":false}`, kind))
		if err != nil || status != want {
			return fmt.Errorf("%s: %d %v %w", kind, status, answer, err)
		}
	}
	return nil
}

// threadStream: its head as it goes over the wire, and its first event.
func (w *interfaceWorld) threadStream([]string) error {
	list, err := w.api.ListExecutions(context.Background(), client.ExecutionFilter{})
	if err != nil || len(list.Executions) == 0 {
		return fmt.Errorf("no executions: %w", err)
	}
	id, host := list.Executions[0].ExecutionID, strings.TrimPrefix(w.base, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := fmt.Fprintf(conn, "GET /api/executions/%s/threads/stream HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", id, host); err != nil {
		return err
	}
	lines := bufio.NewScanner(conn)
	head := map[string]bool{}
	for lines.Scan() && lines.Text() != "" {
		head[lines.Text()] = true
	}
	for _, want := range []string{
		"HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Cache-Control: no-cache", "Connection: keep-alive", "X-Accel-Buffering: no",
	} {
		if !head[want] {
			return fmt.Errorf("no %q in %v", want, head)
		}
	}
	event := ""
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if want := fmt.Sprintf(`{"executionId":%q,"threadIds":[]}`, id); event != "connected" || data != want {
				return fmt.Errorf("the first event is %s %s, want %s", event, data, want)
			}
			return nil
		}
	}
	return fmt.Errorf("no event came: %w", lines.Err())
}

// builtIns are the roles and steps of the built-in patterns, as the interface has them.
var builtIns = map[string]string{
	"startup-team":      "architect singleton; engineer >architect min2 | assign architect, parallel (assign engineer, assign engineer), review architect",
	"enterprise-review": "architect singleton; engineer >tech_lead; qa >tech_lead; tech_lead >architect | assign engineer, review tech_lead, assign qa, approve architect",
	"pair-programming":  "driver singleton; navigator singleton | assign navigator, assign driver, review navigator, assign driver, review navigator | driver >navigator question",
}

func (w *interfaceWorld) builtin(words []string) error {
	_, _, answer, err := w.call(w.base, "", http.MethodGet, "/api/patterns/"+words[0], "")
	if err != nil {
		return err
	}
	found, _ := lookUp(answer, "definition.structure.roles")
	object, _ := found.(map[string]any)
	var roles []string
	for _, name := range slices.Sorted(mapKeys(object)) {
		role, _ := object[name].(map[string]any)
		text := name
		if role["singleton"] == true {
			text += " singleton"
		}
		if to, ok := role["reportsTo"]; ok && to != "" {
			text += fmt.Sprintf(" >%s", to)
		}
		if n, ok := role["minInstances"].(float64); ok && n > 1 {
			text += fmt.Sprintf(" min%v", n)
		}
		roles = append(roles, text)
	}
	steps, _ := lookUp(answer, "definition.workflow.steps")
	got := strings.Join(roles, "; ") + " | " + stepsText(steps)
	want, routing, routed := strings.Cut(builtIns[words[0]], " | driver")
	if routed {
		rules, _ := lookUp(answer, "definition.structure.routing")
		if text := fmt.Sprint(rules); !strings.Contains(text, "from:driver") || !strings.Contains(text, "messageTypes:[question]") || !strings.Contains(text, "to:navigator") {
			return fmt.Errorf("its routing is %v, want driver%s", rules, routing)
		}
	}
	if got != want {
		return fmt.Errorf("it is %s", got)
	}
	return nil
}

func stepsText(steps any) string {
	list, _ := steps.([]any)
	var texts []string
	for _, item := range list {
		step, _ := item.(map[string]any)
		text := fmt.Sprint(step["type"])
		for _, who := range []string{"role", "reviewer", "approver"} {
			if name, ok := step[who].(string); ok && name != "" {
				text += " " + name
			}
		}
		if inner := stepsText(step["steps"]); inner != "" {
			text += " (" + inner + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// executeStream: EVENT FIELD,FIELD or the events.
func (w *interfaceWorld) executeStream(words []string) error {
	if len(words) == 2 {
		for field := range strings.SplitSeq(words[1], ",") {
			if _, ok := w.stream[words[0]][field]; !ok {
				return fmt.Errorf("no %s in %v", field, w.stream[words[0]])
			}
		}
		return nil
	}
	if got := slices.Sorted(mapKeysOf(w.stream)); !slices.Equal(got, slices.Sorted(slices.Values(words))) {
		return fmt.Errorf("it has the events %v", got)
	}
	return nil
}

func mapKeysOf(m map[string]map[string]any) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

func (w *interfaceWorld) priorities([]string) error {
	path := filepath.Join(w.config.dir, "runtimes.yaml")
	if err := os.WriteFile(path, []byte("runtimes: {local: {url: 'http://127.0.0.1:1'}, docker: {url: 'http://127.0.0.1:1'}, kubernetes: {url: 'http://127.0.0.1:1'}}\n"), 0o600); err != nil {
		return err
	}
	c, err := config.Load(path, config.Options{})
	if err != nil {
		return err
	}
	if l, d, k := c.Runtimes["local"].Priority, c.Runtimes["docker"].Priority, c.Runtimes["kubernetes"].Priority; l != 10 || d != 20 || k != 30 {
		return fmt.Errorf("%d, %d, %d", l, d, k)
	}
	return nil
}

// eventSocket: EVENT FIELD,FIELD.
func (w *interfaceWorld) eventSocket(words []string) error {
	data := w.sockets[words[0]]
	if data == nil {
		return fmt.Errorf("it did not come among %v", slices.Sorted(mapKeysOf(w.sockets)))
	}
	for field := range strings.SplitSeq(words[1], ",") {
		if _, ok := data[field]; !ok {
			return fmt.Errorf("no %s in %v", field, data)
		}
	}
	return nil
}

func (w *interfaceWorld) runtimeMetrics([]string) error {
	return compareFields(w.sockets["metrics"], []string{
		"cpuPercent:number", "memoryBytes:number", "memoryLimitBytes:number", "uptimeSeconds:number", "messagesSent:number", "lastResponseMs:number",
	}, false)
}

// paging: the lists take limit and offset, and say where they are.
func (w *interfaceWorld) paging([]string) error {
	const threads = "/api/managed-threads"
	var problems []error
	for _, path := range []string{
		"/api/patterns", "/api/executions", "/api/agents", threads, threads + "/{threadId}/shared-decisions", threads + "/executions/{executionId}",
		threads + "/executions/{executionId}/shared-decisions", threads + "/experiences", "/api/managed-agents", "/api/webhooks", "/api/webhooks/{webhookId}/deliveries",
	} {
		problems = append(problems, named(path, errors.Join(w.query("GET "+path+" limit:number=20<100 offset:number=0"),
			w.answer("GET "+path+" 200 total:number limit:number offset:number hasMore:boolean"))))
	}
	return errors.Join(problems...)
}

// refusals: errors have one form.
func (w *interfaceWorld) refusals([]string) error {
	secured := "http://" + w.secured.Addr()
	_, reader := w.secured.key("refusals", "read")
	for _, c := range []struct {
		base, token, method, path, body string
		status                          int
		code                            string
	}{
		{w.base, "", "GET", "/api/executions/exec_nothing", "", 404, "NOT_FOUND"},
		{w.base, "", "POST", "/api/patterns", `{"name":1}`, 400, "VALIDATION_ERROR"},
		{secured, "", "GET", "/api/patterns", "", 401, "UNAUTHORIZED"},
		{secured, "wr_nonsense", "GET", "/api/patterns", "", 401, "UNAUTHORIZED"},
		{secured, reader.Key, "DELETE", "/api/patterns/x", "", 403, "FORBIDDEN"},
	} {
		status, _, answer, err := w.call(c.base, c.token, c.method, c.path, c.body)
		if err == nil {
			err = compareFields(answer, []string{"error.code:string", "error.message:string", "error.details:object", "requestId:string"}, true)
		}
		if code, _ := lookUp(answer, "error.code"); err != nil || status != c.status || code != c.code {
			return fmt.Errorf("%s %s: %d %v: %w", c.method, c.path, status, answer, err)
		}
	}
	return nil
}

// createKey makes keys with the command line, before the first start and beside the server.
func (w *interfaceWorld) createKey([]string) error {
	dir := w.t.TempDir()
	file := filepath.Join(dir, "wardroom.yaml")
	write(w.t, file, "server: {listen: '127.0.0.1:0'}\nstore: {path: store}\n"+withKeys)
	create := func(env map[string]string, name, scopes string) (string, error) {
		out, text, code := w.command(env, "auth", "create-key", "--config", file, "--name", name, "--scopes", scopes, "-o", "json")
		var key struct{ Key, Name string }
		if err := json.Unmarshal([]byte(out), &key); code != 0 || err != nil || key.Name != name {
			return "", fmt.Errorf("exit code %d: %s%s", code, out, text)
		}
		return key.Key, nil
	}
	first, err := create(nil, "before", "execute,read")
	if err != nil {
		return err
	}
	admin, err := create(nil, "admin", "admin")
	if err != nil {
		return err
	}
	app := open(w.t, appliance.Options{ConfigPath: file, Version: "1.2.3"})
	base := "http://" + app.Addr()
	second, err := create(map[string]string{"WARDROOM_SERVER": base, "WARDROOM_TOKEN": admin}, "beside", "execute,read")
	if err != nil {
		return err
	}
	for _, key := range []string{first, second} {
		for path, want := range map[string]int{"GET /api/patterns": 200, "GET /api/executions": 200, "POST /api/patterns/nothing/execute": 404, "GET /api/webhooks": 403, "DELETE /api/patterns/x": 403} {
			method, path, _ := strings.Cut(path, " ")
			if status, _, answer, err := w.call(base, key, method, path, ""); err != nil || status != want && (want != 404 || status == 403 || status == 401) {
				return fmt.Errorf("%s %s: %d %v %w", method, path, status, answer, err)
			}
		}
	}
	for _, args := range [][]string{{}, {"--name", "x"}, {"--name", "x", "--scopes", "everything"}} {
		if out, text, code := w.command(map[string]string{"WARDROOM_SERVER": base, "WARDROOM_TOKEN": admin}, append([]string{"auth", "create-key", "--config", file}, args...)...); code != 2 {
			return fmt.Errorf("%v: exit code %d: %s%s", args, code, out, text)
		}
	}
	return nil
}

// createToken makes a token with the command line, which an agent registers with.
func (w *interfaceWorld) createToken([]string) error {
	dir := w.t.TempDir()
	file := filepath.Join(dir, "wardroom.yaml")
	write(w.t, file, "server: {listen: '127.0.0.1:0'}\nstore: {path: store}\n"+withKeys+"  agentAuth: {method: token}\n")
	out, text, code := w.command(nil, "agent", "create-token", "--config", file, "--capabilities", "triage,summarize", "-o", "json")
	var token struct{ Token string }
	if err := json.Unmarshal([]byte(out), &token); code != 0 || err != nil {
		return fmt.Errorf("exit code %d: %s%s", code, out, text)
	}
	if out, text, code := w.command(nil, "agent", "create-token", "--config", file); code != 2 {
		return fmt.Errorf("without capabilities: exit code %d: %s%s", code, out, text)
	}
	app := open(w.t, appliance.Options{ConfigPath: file, Version: "1.2.3"})
	for _, c := range []struct {
		token, capability string
		taken             bool
	}{{token.Token, "triage", true}, {token.Token, "other", false}, {"", "triage", false}} {
		a, err := agent.New(agent.Options{
			URL: "http://" + app.Addr(), Token: c.token, Name: "by-token", Capabilities: []string{c.capability},
			Handler: func(context.Context, *agent.Task) (any, error) { return nil, nil },
		})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }()
		if c.taken {
			coretest.WaitFor(w.t, "the agent to connect", a.Connected)
			cancel()
			<-ended
		} else if err := <-ended; err == nil {
			cancel()
			return fmt.Errorf("an agent with %q for %s is taken", c.token, c.capability)
		}
		cancel()
	}
	return nil
}

// auditCommands reads the trail with the command line.
func (w *interfaceWorld) auditCommands([]string) error {
	base := "http://" + w.secured.Addr()
	env := map[string]string{"WARDROOM_SERVER": base, "WARDROOM_TOKEN": w.secured.adminKey}
	if _, err := w.secured.client(w.secured.adminKey).CreatePattern(context.Background(), client.PatternInput{Definition: strings.Replace(echo, "name: echo", "name: audited", 1)}); err != nil {
		return err
	}
	var list struct{ Records []map[string]any }
	coretest.WaitFor(w.t, "the record", func() bool {
		out, _, code := w.command(env, "audit", "list", "--since", "1h", "--action", "patterns.create", "-o", "json")
		list.Records = nil
		return code == 0 && json.Unmarshal([]byte(out), &list) == nil && len(list.Records) == 1
	})
	record := list.Records[0]
	if err := compareFields(record, strings.Fields("timestamp:time eventId:string action:string outcome:string actor.type:string actor.id:string actor.ip:string "+
		"actor.userAgent:string resource.type:string resource.id:string resource.version:string details:object request.method:string request.path:string request.requestId:string"), false); err != nil {
		return fmt.Errorf("%v: %w", record, err)
	}
	actor, _ := lookUp(record, "actor.id")
	for who, want := range map[string]int{fmt.Sprint(actor): 1, "somebody": 0} {
		out, text, code := w.command(env, "audit", "list", "--action", "patterns.create", "--actor", who, "-o", "json")
		if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || len(list.Records) != want {
			return fmt.Errorf("of %s: exit code %d: %s%s", who, code, out, text)
		}
	}
	for format, sign := range map[string]string{"json": `"action":"patterns.create"`, "csv": "patterns.create", "cef": "CEF:0"} {
		out, text, code := w.command(env, "audit", "export", "--since", "1h", "--format", format)
		if code != 0 || !strings.Contains(out, sign) {
			return fmt.Errorf("as %s: exit code %d: %s%s", format, code, out, text)
		}
	}
	if out, text, code := w.command(env, "audit", "export", "--format", "odd"); code != 2 {
		return fmt.Errorf("in an odd format: exit code %d: %s%s", code, out, text)
	}
	return nil
}

func (w *interfaceWorld) auditCategories([]string) error {
	want := strings.Fields("authentication authorization patterns executions agents admin")
	if !slices.Equal(wire.AuditCategories, want) {
		return fmt.Errorf("they are %v", wire.AuditCategories)
	}
	return nil
}

// scopes: each opens what the interface says, and nothing else of it.
func (w *interfaceWorld) scopes([]string) error {
	base := "http://" + w.secured.Addr()
	opens := map[string]string{
		"GET /api/patterns": "patterns:read", "POST /api/patterns": "patterns:write", "PUT /api/patterns/none": "patterns:write",
		"DELETE /api/patterns/none": "patterns:delete", "POST /api/patterns/none/execute": "executions:create", "GET /api/executions": "executions:read",
		"GET /api/agents": "agents:read", "POST /api/agents/none/disconnect": "agents:manage", "GET /api/webhooks": "admin",
	}
	for _, scope := range []string{"patterns:read", "patterns:write", "patterns:delete", "executions:create", "executions:read", "agents:read", "agents:manage", "admin"} {
		_, key := w.secured.key("scope "+scope, scope)
		for op, needs := range opens {
			method, path, _ := strings.Cut(op, " ")
			body := ""
			if strings.HasPrefix(method, "P") {
				body = "{}"
			}
			status, _, answer, err := w.call(base, key.Key, method, path, body)
			if err != nil || (status == http.StatusForbidden) == (scope == needs || scope == "admin") {
				return fmt.Errorf("%s with %s: %d %v %w", op, scope, status, answer, err)
			}
		}
	}
	return nil
}

// environment: a secret comes out of the environment, and a variable that is missing is said.
func (w *interfaceWorld) environment([]string) error {
	path := filepath.Join(w.config.dir, "environment.yaml")
	if err := os.WriteFile(path, []byte("security: {sso: {google: {clientId: x, clientSecret: '${CLIENT_SECRET}'}}}\n"), 0o600); err != nil {
		return err
	}
	c, err := config.Load(path, config.Options{Lookup: func(name string) (string, bool) { return "hunter2", name == "CLIENT_SECRET" }})
	if err != nil || c.Security.SSO.Google.ClientSecret.Reveal() != "hunter2" {
		return fmt.Errorf("it is not read: %w", err)
	}
	if _, err := config.Load(path, config.Options{Lookup: func(string) (string, bool) { return "", false }}); err == nil || !strings.Contains(err.Error(), "CLIENT_SECRET") {
		return fmt.Errorf("without the variable: %w", err)
	}
	return nil
}

func (w *interfaceWorld) deliveryIDs([]string) error {
	events := map[string]string{}
	for _, d := range w.deliveries {
		id := d.header.Get("X-Service-Delivery")
		if former, ok := events[id]; ok && former != d.event.ID {
			return fmt.Errorf("%s is of %s and of %s", id, former, d.event.ID)
		}
		events[id] = d.event.ID
	}
	return nil
}

// signature: computed by hand, as the interface has it.
func (w *interfaceWorld) signature([]string) error {
	for _, d := range w.deliveries {
		mac := hmac.New(sha256.New, []byte(hookSecret))
		mac.Write([]byte(d.header.Get("X-Service-Timestamp") + "."))
		mac.Write(d.body)
		if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); d.header.Get("X-Service-Signature") != want {
			return fmt.Errorf("it is %s, want %s", d.header.Get("X-Service-Signature"), want)
		}
	}
	return nil
}

// code: CODE STATUS.
func (w *interfaceWorld) code(words []string) error {
	_, reader := w.secured.key("code "+words[0], "read")
	requests := map[string]struct{ base, token, method, path, body string }{
		"VALIDATION_ERROR": {w.base, "", "POST", "/api/patterns", `{}`},
		"UNAUTHORIZED":     {"http://" + w.secured.Addr(), "", "GET", "/api/patterns", ""},
		"FORBIDDEN":        {"http://" + w.secured.Addr(), reader.Key, "POST", "/api/patterns", `{}`},
		"NOT_FOUND":        {w.base, "", "GET", "/api/patterns/none", ""},
		"TIMEOUT":          {w.base, "", "POST", "/api/patterns/late/execute", `{"input":{"do":"wait"},"options":{"timeout":200}}`},
		"CONFLICT":         {w.base, "", "POST", "/api/patterns", fmt.Sprintf(`{"definition":%q}`, echo)},
		"NO_AGENTS":        {w.base, "", "POST", "/api/patterns/lonely/execute", `{"input":{}}`},
	}
	request, ok := requests[words[0]]
	if !ok { // INTERNAL_ERROR is for what cannot be had here: a panic, of which TestPanic has one
		return errors.Join(w.status("GET /api/patterns 500"), w.test("core/api TestPanic"))
	}
	status, _, answer, err := w.call(request.base, request.token, request.method, request.path, request.body)
	if code, _ := lookUp(answer, "error.code"); err != nil || code != words[0] || fmt.Sprint(status) != words[1] {
		return fmt.Errorf("%d %v %w", status, answer, err)
	}
	return nil
}

// timeoutNamed: the event of an execution over its time names the time.
func (w *interfaceWorld) timeoutNamed([]string) error {
	for _, d := range w.deliveries {
		if text := string(d.event.Data); d.event.Type == string(core.EventExecutionFailed) && strings.Contains(text, `"TIMEOUT"`) {
			if strings.Contains(text, "300 ms") || strings.Contains(text, "300ms") {
				return nil
			}
			return fmt.Errorf("it says %s", text)
		}
	}
	return errors.New("no execution ran out of its time")
}

// rates: the three limits of a server that limits by rate, and its headers.
func (w *interfaceWorld) rates([]string) error {
	base := "http://" + w.secured.Addr()
	_, key := w.secured.key("rates", "admin")
	for _, c := range []struct{ method, path, limit string }{
		{"GET", "/api/patterns", "1000"}, {"POST", "/api/patterns", "200"}, {"POST", "/api/patterns/none/execute", "100"},
	} {
		body := ""
		if c.method == "POST" {
			body = "{}"
		}
		_, header, answer, err := w.call(base, key.Key, c.method, c.path, body)
		if err != nil || header.Get("X-RateLimit-Limit") != c.limit {
			return fmt.Errorf("%s %s: limit %q: %v %w", c.method, c.path, header.Get("X-RateLimit-Limit"), answer, err)
		}
		var remaining, reset int64
		if _, err := fmt.Sscan(header.Get("X-RateLimit-Remaining"), &remaining); err != nil {
			return fmt.Errorf("X-RateLimit-Remaining: %w", err)
		}
		if _, err := fmt.Sscan(header.Get("X-RateLimit-Reset"), &reset); err != nil || reset < time.Now().Unix()-60 || reset > time.Now().Unix()+120 {
			return fmt.Errorf("X-RateLimit-Reset is %d: %w", reset, err)
		}
	}
	for n := range 200 {
		status, header, answer, err := w.call(base, key.Key, "POST", "/api/patterns/none/execute", "{}")
		if err != nil {
			return err
		}
		if status == http.StatusTooManyRequests {
			if code, _ := lookUp(answer, "error.code"); code != "RATE_LIMITED" || header.Get("Retry-After") == "" || n < 50 {
				return fmt.Errorf("after %d: %v", n, answer)
			}
			return nil
		}
	}
	return errors.New("200 executes are not too many")
}

func (w *interfaceWorld) frameEnvelope([]string) error {
	for kind, frames := range w.frames.sent() {
		for _, text := range frames {
			var frame any
			if err := json.Unmarshal(text, &frame); err != nil {
				return err
			}
			if err := compareFields(frame, []string{"type:string", "id?:string", "timestamp:time", "payload:object"}, true); err != nil {
				return fmt.Errorf("%s: %s: %w", kind, text, err)
			}
		}
	}
	return nil
}
