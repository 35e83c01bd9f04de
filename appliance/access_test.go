package appliance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// secured is a server whose callers need keys.
type secured struct {
	*appliance.App
	t        *testing.T
	dir      string
	config   string
	log      *log
	adminKey string
	http     *http.Client // of ask
}

const withKeys = `
security:
  authentication:
    apiKeys: {enabled: true}
`

func openSecured(t *testing.T, more string) *secured {
	t.Helper()
	s := &secured{t: t, dir: t.TempDir(), log: new(log)}
	s.config = filepath.Join(s.dir, "wardroom.yaml")
	s.write(more)
	s.App = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	path := filepath.Join(s.dir, "store", "admin.key")
	key, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	s.adminKey = strings.TrimSpace(string(key))
	if strings.Contains(s.log.String(), s.adminKey) || !strings.Contains(s.log.String(), path) {
		t.Error("the log has the key, or not where it is")
	}
	return s
}

func (s *secured) write(more string) {
	s.t.Helper()
	text := "server: {listen: '127.0.0.1:0'}\nstore: {path: store}\nplugins: {dir: plugins}\n" + withKeys + more
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *secured) client(token string) *client.Client {
	s.t.Helper()
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New("http://"+s.Addr(), client.Options{Token: token, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// key makes a key and returns a client with it.
func (s *secured) key(name string, scopes ...string) (*client.Client, *client.NewAPIKey) {
	s.t.Helper()
	k, err := s.client(s.adminKey).CreateKey(s.t.Context(), client.APIKeySpec{Name: name, Scopes: scopes}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	return s.client(k.Key), k
}

func status(err error) int {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

func (s *secured) wants(err error, want int) {
	s.t.Helper()
	if got := status(err); got != want || want == 0 && err != nil {
		s.t.Fatalf("%v, want status %d", err, want)
	}
}

// From the first key to the last: made at the first start, able to do what its scopes say, rotated, revoked; agents and
// streams end with theirs.
func TestKeysEndToEnd(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	_, err := s.client("").ListPatterns(ctx, client.PatternFilter{})
	s.wants(err, 401)
	_, err = s.client("wr_nonsense").ListPatterns(ctx, client.PatternFilter{})
	s.wants(err, 401)
	_, err = admin.CreatePattern(ctx, client.PatternInput{Definition: echo, Name: "echo"})
	s.wants(err, 0)

	reader, _ := s.key("reader", "read")
	_, err = reader.ListPatterns(ctx, client.PatternFilter{})
	s.wants(err, 0)
	_, err = reader.Execute(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 403)
	_, err = reader.ListKeys(ctx, client.APIKeyFilter{})
	s.wants(err, 403)
	can, err := reader.Can(ctx, "executions.create", "")
	s.wants(err, 0)
	if can.Allowed || can.RequiredScope != "executions:create" || can.Revision == "" {
		t.Errorf("%+v", can)
	}
	me, err := reader.GetSession(ctx)
	s.wants(err, 0)
	if me.ID != "reader" || !me.Authenticated || len(me.Actions) == 0 {
		t.Errorf("%+v", me)
	}

	// An agent works with a key of its own, and is disconnected with it.
	_, forAgents := s.key("worker", "agents:manage")
	worker, err := agent.New(agent.Options{
		URL: "http://" + s.Addr(), Token: forAgents.Key, Name: "echo", Capabilities: []string{"echo"},
		Handler: func(context.Context, *agent.Task) (any, error) { return map[string]any{"said": "hi"}, nil },
	})
	s.wants(err, 0)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	coretest.WaitFor(t, "the agent to connect", worker.Connected)
	runner, ofRunner := s.key("runner", "execute")
	e, err := runner.Execute(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 0)
	got, err := runner.GetExecution(ctx, e.ExecutionID)
	s.wants(err, 0)
	if !strings.Contains(string(got.Raw()), `"createdBy":"runner"`) {
		t.Errorf("%s", got.Raw())
	}
	s.wants(admin.RevokeKey(ctx, forAgents.ID), 0)
	<-ended

	// The former secret ends with the rotation, the key with its revocation.
	next, err := admin.RotateKey(ctx, ofRunner.ID, 0)
	s.wants(err, 0)
	_, err = runner.GetSession(ctx)
	s.wants(err, 401)
	runner = s.client(next.Key)
	_, err = runner.GetSession(ctx)
	s.wants(err, 0)
	s.wants(admin.RevokeKey(ctx, ofRunner.ID), 0)
	_, err = runner.GetSession(ctx)
	s.wants(err, 401)
	if text := s.log.String(); strings.Contains(text, next.Key) || strings.Contains(text, next.Key[30:60]) {
		t.Error("the log has a key")
	}

	// Without a server the owner of the machine makes keys, and the next server knows them.
	s.Close()
	var made *core.NewAPIKey
	roles := new(config.Config)
	roles.Security.RBAC = config.RBAC{Enabled: true, DefaultRole: "viewer"}
	err = appliance.OfflineKeys(ctx, roles, store.Location{Path: filepath.Join(s.dir, "store")}, func(ctx context.Context, keys core.KeyService) (err error) {
		rescue, err := keys.CreateKey(ctx, core.APIKeySpec{Name: "rescue", Scopes: []string{"admin"}})
		s.wants(err, 0)
		if !slices.Equal(rescue.Roles, []string{"admin"}) {
			t.Errorf("a key for everything, where roles are needed: %+v", rescue.APIKey)
		}
		if _, err := keys.CreateKey(ctx, core.APIKeySpec{Name: "x", Scopes: []string{"read"}, Roles: []string{"nosuch"}}); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("a role that there is not: %v", err)
		}
		made, err = keys.CreateKey(ctx, core.APIKeySpec{Name: "offline", Scopes: []string{"read"}})
		return err
	})
	s.wants(err, 0)
	s.App = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	_, err = s.client(made.Key).ListPatterns(ctx, client.PatternFilter{})
	s.wants(err, 0)
	_, err = s.client(s.adminKey).ListKeys(ctx, client.APIKeyFilter{})
	s.wants(err, 0)
}

// Where roles are needed, a key that was given none may do all that its scopes name.
func TestKeysWithoutRoles(t *testing.T) {
	s := openSecured(t, "  rbac: {enabled: true}\n")
	for _, scope := range core.Scopes {
		c, k := s.key("for "+scope, scope)
		who, err := c.GetSession(t.Context())
		s.wants(err, 0)
		if k.Warning != "" {
			t.Errorf("%s: %s", scope, k.Warning)
		}
		for _, cell := range s.cells() {
			if core.Grants(k.Scopes, cell.scope) && !slices.Contains(who.Actions, cell.action) {
				t.Errorf("a key with the scope %s and the roles %v may not do %s", scope, k.Roles, cell.action)
			}
		}
	}
}

const guardedEcho = echo + "security:\n  allowedUsers: [ann]\n"

// What belongs to a pattern that is not open to a caller is not there for them, and no way around leads to it.
func TestGuardedPattern(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: guardedEcho, Name: "echo"})
	s.wants(err, 0)
	composed := "name: around\nversion: 1.0.0\nsteps:\n  - id: one\n    pattern: echo@1.0.0\n"
	ann, _ := s.key("ann", "execute", "read", "patterns:write")
	bob, _ := s.key("bob", "execute", "read", "patterns:write")
	e, err := ann.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 0)
	_, err = ann.GetPattern(ctx, "echo", "")
	s.wants(err, 0)
	_, err = bob.GetPattern(ctx, "echo", "")
	s.wants(err, 403)
	_, err = bob.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 403)
	_, err = bob.StartBatch(ctx, client.BatchRequest{Pattern: "echo", Inputs: []json.RawMessage{json.RawMessage(`{}`)}})
	s.wants(err, 403)
	if _, err = bob.CreatePattern(ctx, client.PatternInput{Definition: composed, Name: "around"}); err == nil {
		_, err = bob.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "around", Input: []byte(`{}`)})
	}
	s.wants(err, 403)
	_, err = ann.GetExecution(ctx, e.ExecutionID)
	s.wants(err, 0)
	_, foreign := bob.GetExecution(ctx, e.ExecutionID)
	s.wants(foreign, 404)
	missing := "exec_01JGFJJZ8N4Q1W0000000000AB"
	_, unknown := bob.GetExecution(ctx, missing)
	s.wants(unknown, 404)
	var a, b *client.Error
	errors.As(foreign, &a)
	errors.As(unknown, &b)
	if strings.ReplaceAll(a.Message, e.ExecutionID, missing) != b.Message {
		t.Errorf("a foreign execution answers %q, a missing one %q", a.Message, b.Message)
	}
	_, err = bob.CreatePattern(ctx, client.PatternInput{Definition: strings.Replace(echo, "1.0.0", "2.0.0", 1), Name: "echo"})
	s.wants(err, 403)
	// The text has the name, and the request the version.
	_, err = bob.CreatePattern(ctx, client.PatternInput{Definition: strings.Replace(echo, "version: 1.0.0\n", "", 1), Version: "2.0.0"})
	s.wants(err, 403)
	_, err = bob.CreatePattern(ctx, client.PatternInput{Definition: echo + "nothing: of the kind\n"})
	s.wants(err, 400)
	_, err = bob.ListThreads(ctx, client.ThreadFilter{ExecutionID: e.ExecutionID})
	s.wants(err, 404)
	_, err = bob.RetryExecution(ctx, e.ExecutionID, "")
	s.wants(err, 404)
	rows := func(c *client.Client) int {
		list, err := c.ListExecutions(ctx, client.ExecutionFilter{})
		s.wants(err, 0)
		return len(list.Executions)
	}
	if n, m := rows(ann), rows(bob); n != 1 || m != 0 {
		t.Errorf("ann lists %d executions, bob %d", n, m)
	}
	can, err := bob.Can(ctx, "executions.read", "executions/"+e.ExecutionID)
	s.wants(err, 0)
	none, err := bob.Can(ctx, "executions.read", "executions/"+missing)
	s.wants(err, 0)
	if can.Allowed || can.Allowed != none.Allowed || can.Reason != none.Reason {
		t.Errorf("of a foreign execution %+v, of a missing one %+v", can, none)
	}

	// What ran keeps the allow-list that it had: without its pattern, and under another one of its name.
	_, err = admin.DeletePattern(ctx, "echo", "")
	s.wants(err, 0)
	_, err = bob.GetExecution(ctx, e.ExecutionID)
	s.wants(err, 404)
	_, err = bob.CreatePattern(ctx, client.PatternInput{Definition: strings.Replace(guardedEcho, "ann", "bob", 1), Name: "echo"})
	s.wants(err, 0)
	_, err = bob.GetExecution(ctx, e.ExecutionID)
	s.wants(err, 404)
	_, err = ann.GetExecution(ctx, e.ExecutionID) // who made it
	s.wants(err, 0)
}

// If-Match is compared with the version that is replaced, also where the text has that version and leaves its name to the path.
func TestIfMatchOfATextWithoutName(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	nameless := strings.Replace(echo, "name: echo\n", "", 1)
	tags := map[string]string{}
	for _, version := range []string{"1.0.0", "2.0.0"} {
		_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: echo, Version: version})
		s.wants(err, 0)
		p, err := admin.GetPattern(ctx, "echo", version)
		s.wants(err, 0)
		tags[version] = p.ETag
	}
	_, err := admin.ReplacePattern(ctx, "echo", tags["2.0.0"], client.PatternInput{Definition: nameless, Description: "over another's change"})
	s.wants(err, 412)
	_, err = admin.ReplacePattern(ctx, "echo", tags["1.0.0"], client.PatternInput{Definition: nameless, Description: "as it was read"})
	s.wants(err, 0)
}

// A stream of what belongs to a pattern ends once the pattern's allow-list leaves its reader out, and that of who made it goes on.
func TestGuardEndsStream(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: echo, Name: "echo"})
	s.wants(err, 0)
	ann, _ := s.key("ann", "execute", "read")
	bob, _ := s.key("bob", "read")
	e, err := ann.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 0)
	open := func(c *client.Client) <-chan struct{} {
		stream, err := c.WatchExecution(ctx, e.ExecutionID, "")
		s.wants(err, 0)
		over := make(chan struct{})
		go func() {
			defer close(over)
			defer stream.Close()
			for {
				if _, err := stream.Next(); err != nil {
					return
				}
			}
		}()
		return over
	}
	owner, reader := open(ann), open(bob)
	_, err = admin.UpdatePattern(ctx, "echo", client.PatternInput{Definition: guardedEcho, Name: "echo"})
	s.wants(err, 0)
	<-reader
	_, err = bob.GetExecution(ctx, e.ExecutionID)
	s.wants(err, 404)
	select {
	case <-owner:
		t.Error("the stream of who made it ended")
	default:
	}
}

// What was begun by the secret of a key ends with that secret: with its rotation, or with the overlap of that.
func TestRotationEndsWhatTheSecretBegan(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	for name, overlap := range map[string]client.Millis{"AtOnce": 0, "WithTheOverlap": 1000} {
		t.Run(name, func(t *testing.T) {
			c, k := s.key(name, "agents:manage", "read")
			req, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.Addr()+"/api/events?topics=counts", http.NoBody)
			s.wants(err, 0)
			req.Header.Set("Authorization", "Bearer "+k.Key)
			stream, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
			s.wants(err, 0)
			defer stream.Body.Close()
			if stream.StatusCode != http.StatusOK {
				t.Fatal(stream.Status)
			}
			worker, err := agent.New(agent.Options{
				URL: "http://" + s.Addr(), Token: k.Key, Name: name, Capabilities: []string{name},
				Handler: func(context.Context, *agent.Task) (any, error) { return nil, nil },
			})
			s.wants(err, 0)
			ended := make(chan error, 1)
			go func() { ended <- worker.Run(ctx) }()
			coretest.WaitFor(t, "the agent to connect", worker.Connected)
			_, err = admin.RotateKey(ctx, k.ID, overlap)
			s.wants(err, 0)
			_, _ = io.Copy(io.Discard, stream.Body) // until it ends, however
			<-ended
			_, err = c.GetSession(ctx)
			s.wants(err, 401)
		})
	}
}

// One loop looks for lost rights: api.Server.Recheck must not run twice at once.
func TestAccessIsWatchedOnce(t *testing.T) {
	openSecured(t, "")
	loops := func() int {
		stacks := make([]byte, 4<<20)
		return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("appliance.(*App).watchAccess("))
	}
	coretest.WaitFor(t, "a loop", func() bool { return loops() > 0 })
	if n := loops(); n != 1 {
		t.Errorf("%d loops", n)
	}
}

// TestForeignWorkspace names the workspace of somebody else's execution in bodies.
func TestForeignWorkspace(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	_, err := s.client(s.adminKey).CreatePattern(ctx, client.PatternInput{Definition: guardedEcho, Name: "echo"})
	s.wants(err, 0)
	ann, _ := s.key("ann", "execute", "read")
	bob, _ := s.key("bob", "execute", "read")
	e, err := ann.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 0)
	plan, err := ann.PrepareThread(ctx, client.ThreadSpec{
		ExecutionID: e.ExecutionID, AgentType: "claude", Objective: "x",
	})
	s.wants(err, 0)
	id := plan.Preparation.Workspace.WorkspaceID
	spec := client.ThreadSpec{ExecutionID: "new", AgentType: "claude", Objective: "look"}
	spec.Preparation.Workspace = &client.WorkspaceSpec{WorkspaceID: id}
	_, err = bob.SpawnThread(ctx, spec)
	s.wants(err, 404)
	_, err = bob.PrepareThread(ctx, spec)
	s.wants(err, 404)
	_, err = bob.PruneWorkspaces(ctx, client.WorkspacePrune{IDs: []string{id}})
	s.wants(err, 404)
	list, err := bob.ListWorkspaces(ctx, client.WorkspaceFilter{})
	s.wants(err, 0)
	if len(list.Workspaces) != 0 {
		t.Errorf("bob lists %+v", list.Workspaces)
	}
}

// What outlives its execution is for its owner and administrators, and a workspace that is prepared for an execution to come for
// all that may spawn in it.
func TestWithoutExecution(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: guardedEcho, Name: "echo"})
	s.wants(err, 0)
	ann, _ := s.key("ann", "execute", "read")
	bob, _ := s.key("bob", "execute", "read")
	prepared := func(execution string) (workspace string) {
		t.Helper()
		plan, err := ann.PrepareThread(ctx, client.ThreadSpec{ExecutionID: execution, AgentType: "claude"})
		s.wants(err, 0)
		return plan.Preparation.Workspace.WorkspaceID
	}
	e, err := ann.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 0)
	left := prepared(e.ExecutionID)
	schedule, err := ann.CreateSchedule(ctx, client.ScheduleSpec{
		ScheduleSpec: wire.ScheduleSpec{Name: "daily", ScheduleTiming: wire.ScheduleTiming{Cron: "0 0 * * *"}},
		Target:       client.Target{Thread: &client.ThreadSpec{ExecutionID: e.ExecutionID, AgentType: "claude"}},
	})
	s.wants(err, 0)
	_, err = ann.CancelExecution(ctx, e.ExecutionID, "")
	s.wants(err, 0)
	s.wants(admin.DeleteExecution(ctx, e.ExecutionID), 0)
	for _, c := range []struct {
		who                 *client.Client
		workspace, schedule int
	}{{admin, 0, 0}, {ann, 404, 0}, {bob, 404, 404}} {
		_, err := c.who.GetWorkspace(ctx, left)
		s.wants(err, c.workspace)
		_, err = c.who.GetSchedule(ctx, schedule.ID)
		s.wants(err, c.schedule)
	}
	list, err := admin.ListWorkspaces(ctx, client.WorkspaceFilter{})
	s.wants(err, 0)
	pruned, err := admin.PruneWorkspaces(ctx, client.WorkspacePrune{IDs: []string{left}})
	s.wants(err, 0)
	if len(list.Workspaces) != 1 || len(pruned.Pruned) != 1 || !pruned.Pruned[0].Removed {
		t.Errorf("an administrator lists %+v, and prunes %+v", list.Workspaces, pruned.Pruned)
	}

	id := prepared("new")
	_, err = ann.GetWorkspace(ctx, id)
	s.wants(err, 0)
	spec := client.ThreadSpec{ExecutionID: "new", AgentType: "claude"}
	spec.Preparation.Workspace = &client.WorkspaceSpec{WorkspaceID: id}
	_, err = ann.PrepareThread(ctx, spec)
	s.wants(err, 0)
}

// Roles that a reload takes away bound what credentials have by default, which waits for a restart: the reload is refused, or
// everybody would be an administrator until then.
func TestReloadMakesNoAdministrators(t *testing.T) {
	const provider = "    jwt: {enabled: true, issuer: 'https://id.example', audience: wardroom, jwksUri: 'https://127.0.0.1:1/keys', defaultScopes: "
	s := openSecured(t, provider+"[admin]}\n  rbac: {enabled: true}\n")
	s.write(provider + "['executions:read']}\n")
	if err := s.Reload(); core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "everybody would be an administrator") {
		t.Errorf("got %v", err)
	}
	s.write(provider + "['executions:read']}\n  rbac: {enabled: true}\n")
	if err := s.Reload(); err != nil {
		t.Error(err)
	}
}

// A file that an editor has emptied and not written yet, or could not write as the disk is full, takes nothing out of force.
func TestReloadOfEmptiedFile(t *testing.T) {
	s := openSecured(t, "  rbac: {enabled: true}\n  audit: {enabled: true}\n")
	whole, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	before := s.policyOf(t)
	for _, text := range []string{"", "\n\n", "# Wardroom\n", "---\n# nothing yet\n"} {
		write(t, s.config, text)
		if err := s.Reload(); core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "holds nothing") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if now := s.policyOf(t); now != before {
		t.Errorf("the policy is %s, and was %s", now, before)
	}
	write(t, s.config, string(whole))
	if err := s.Reload(); err != nil {
		t.Error(err)
	}
	dropIn := filepath.Join(s.dir, "conf.d", "10.yaml")
	if err := os.Mkdir(filepath.Dir(dropIn), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"", "log: {level: warn}\n", ""} { // one that is new may be empty
		write(t, dropIn, text)
		if err := s.Reload(); (err == nil) != (i < 2) {
			t.Errorf("drop-in %d: %v", i, err)
		}
	}
	if err := os.Remove(dropIn); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err != nil {
		t.Errorf("without the drop-in: %v", err)
	}
}

// policyOf returns the revision of the policy in force.
func (s *secured) policyOf(t *testing.T) string {
	can, err := s.client(s.adminKey).Can(t.Context(), "patterns.create", "")
	s.wants(err, 0)
	return can.Revision
}

// Roles count at once after a reload, and a broken policy leaves the one before in force.
func TestRolesReloaded(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	ann, _ := s.key("ann", "execute", "read", "patterns:write")
	write := func() int {
		can, err := ann.Can(ctx, "patterns.create", "")
		s.wants(err, 0)
		if can.Allowed {
			return 200
		}
		return 403
	}
	if got := write(); got != 200 {
		t.Fatal(got)
	}
	s.write("  rbac:\n    enabled: true\n    bindings: [{subject: {name: bob}, role: developer}]\n")
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := write(); got != 403 {
		t.Errorf("without a role: %d", got)
	}
	if _, err := s.client(s.adminKey).ListKeys(ctx, client.APIKeyFilter{}); err != nil {
		t.Errorf("the first key is locked out: %v", err)
	}
	s.write("  rbac:\n    enabled: true\n    bindings: [{subject: {name: ann}, role: developer}]\n")
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := write(); got != 200 {
		t.Errorf("with the role: %d", got)
	}
	dir := filepath.Join(s.dir, "policy")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "a.rego"), []byte("package wardroom.authz\n\nallow {\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s.write(fmt.Sprintf("  policy: {dir: %s}\n", dir))
	if err := s.Reload(); core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "a.rego") {
		t.Errorf("%v", err)
	}
	if got := write(); got != 200 {
		t.Errorf("after a broken reload: %d", got)
	}
}
