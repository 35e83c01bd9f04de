package plugin_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// memorySink is an audit sink that says what it was given.
type memorySink struct {
	audit.Unimplemented
	last uint64
}

func (m *memorySink) Write(_ context.Context, batch []audit.Record) (uint64, error) {
	m.last = batch[len(batch)-1].Sequence
	return m.last, nil
}

func sinkDefinition(schema string, closed *int) plugin.Definition {
	return plugin.Definition{
		Name: "audit-memory", Version: "0.1.0", Kind: plugin.KindAudit, Schema: []byte(schema),
		Configure: func(context.Context, json.RawMessage, plugin.Host) (plugin.Service, error) {
			return plugin.Service{Audit: &memorySink{}, Close: func(context.Context) error { *closed++; return nil }}, nil
		},
	}
}

// inProcess connects to a definition with go-plugin's own helper for tests.
func inProcess(t *testing.T, def plugin.Definition) (*plugin.Conn, *plugin.InProcess) {
	t.Helper()
	local := &plugin.InProcess{Name: "memory"}
	set, err := local.Set(def)
	if err != nil {
		t.Fatal(err)
	}
	client, _ := goplugin.TestPluginGRPCConn(t, false, set)
	raw, err := client.Dispense(plugin.Name)
	if err != nil {
		t.Fatal(err)
	}
	conn := raw.(*plugin.Conn)
	t.Cleanup(func() {
		_ = conn.Close()
		_ = client.Close() // it stops the server, too
	})
	return conn, local
}

func TestInProcess(t *testing.T) {
	closed := 0
	c, local := inProcess(t, sinkDefinition("", &closed))
	ctx := testContext(t)
	if _, err := c.Audit().Write(ctx, []audit.Record{{Sequence: 1}}); audit.AsError(err).Code != audit.CodeUnavailable {
		t.Errorf("before a configuration: %v", err)
	}
	c.SetHostServices(newFakeHost())
	if _, err := c.Configure(ctx, nil, 1); err != nil {
		t.Fatal(err)
	}
	if last, err := c.Audit().Write(ctx, []audit.Record{{Sequence: 1}, {Sequence: 2}}); err != nil || last != 2 {
		t.Errorf("%d, %v", last, err)
	}
	if h, err := c.Health(ctx); err != nil || h.Status != plugin.StatusOK {
		t.Errorf("%+v, %v", h, err)
	}
	for range 2 {
		if err := local.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
	if err := (&plugin.InProcess{}).Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestDefinitionIsChecked(t *testing.T) {
	good := func() plugin.Definition { return sinkDefinition(`{"type":"object"}`, new(int)) }
	for want, change := range map[string]func(*plugin.Definition){
		`Name "Sink"`:             func(d *plugin.Definition) { d.Name = "Sink" },
		`Name "a--b"`:             func(d *plugin.Definition) { d.Name = "a--b" },
		"at most 64":              func(d *plugin.Definition) { d.Name = strings.Repeat("a", 65) },
		"Version is empty":        func(d *plugin.Definition) { d.Version = "" },
		`Kind "sink"`:             func(d *plugin.Definition) { d.Kind = "sink" },
		"Configure is nil":        func(d *plugin.Definition) { d.Configure = nil },
		"Schema:":                 func(d *plugin.Definition) { d.Schema = []byte(`{"type":7}`) },
		"outside of the schema":   func(d *plugin.Definition) { d.Schema = []byte(`{"$ref":"file:///etc/passwd"}`) },
		"Examples[0] does not sa": func(d *plugin.Definition) { d.Examples = []json.RawMessage{json.RawMessage(`[]`)} },
	} {
		def := good()
		change(&def)
		if _, err := (&plugin.InProcess{}).Set(def); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	if _, err := (&plugin.InProcess{}).Set(good()); err != nil {
		t.Error(err)
	}
}

// What a schema refuses is reported with its place and what it should be, and never with what it is.
func TestSchemaProblems(t *testing.T) {
	const schema = `{"type":"object","required":["need"],"additionalProperties":false,"properties":{
		"need":{"type":"string"}, "n":{"type":"number","minimum":1,"maximum":9,"multipleOf":2},
		"over":{"exclusiveMinimum":1}, "under":{"exclusiveMaximum":9},
		"e":{"enum":["a","b"]}, "c":{"const":"x"}, "p":{"pattern":"^a$"}, "len":{"minLength":12},
		"list":{"items":{"type":"object","properties":{"a/b~c":{"type":"boolean"}}}},
		"either":{"anyOf":[{"type":"boolean"},{"type":"null"}]}}}`
	c, _ := inProcess(t, sinkDefinition(schema, new(int)))
	for _, tt := range []struct{ config, path, text string }{
		{`{}`, "", "lacks need"},
		{`{"need":"hunter2","x":"hunter2","y":1}`, "", "unknown setting x, y"},
		{`{"need":"hunter2","n":-7}`, "/n", "must be at least 1"},
		{`{"need":"hunter2","n":70}`, "/n", "must be at most 9"},
		{`{"need":"hunter2","n":7}`, "/n", "must be a multiple of 2"},
		{`{"need":"hunter2","over":0}`, "/over", "must be more than 1"},
		{`{"need":"hunter2","under":10}`, "/under", "must be less than 9"},
		{`{"need":"hunter2","e":"hunter2"}`, "/e", "value must be one of 'a', 'b'"},
		{`{"need":"hunter2","c":"hunter2"}`, "/c", "must be x"},
		{`{"need":"hunter2","p":"hunter2"}`, "/p", "must match ^a$"},
		{`{"need":"hunter2","len":"hunter2"}`, "/len", "minLength: got 7, want 12"},
		{`{"need":"hunter2","list":[{"a/b~c":"hunter2"}]}`, "/list/0/a~1b~0c", "got string, want boolean"},
		{`{"need":"hunter2","either":"hunter2"}`, "/either", "got string, want boolean"},
	} {
		problems, err := c.Validate(testContext(t), json.RawMessage(tt.config))
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) == 0 || problems[0].Path != tt.path || problems[0].Text != tt.text {
			t.Errorf("%s: got %+v", tt.config, problems)
		}
		for _, p := range problems {
			if strings.Contains(p.Text, "hunter2") {
				t.Errorf("a value is quoted: %s", p.Text)
			}
		}
	}
	none, _ := inProcess(t, sinkDefinition("", new(int)))
	problems, err := none.Validate(testContext(t), json.RawMessage(`{"b":1,"a":2}`))
	if err != nil || len(problems) != 1 || problems[0].Path != "/a" || problems[0].Text != "this plugin has no settings" {
		t.Errorf("got %+v, %v", problems, err)
	}
}
