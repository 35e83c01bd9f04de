package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/plugin"
)

func TestByHand(t *testing.T) {
	def := sinkDefinition(`{"type":"object"}`, new(int))
	alone := def
	served := 0
	var result error
	alone.ServeAlone = func(context.Context) error { served++; return result }
	ported := alone
	ported.AlonePort = 3100
	bare := sinkDefinition("", new(int))
	wrong := def
	wrong.Version = ""
	for _, tt := range []struct {
		name        string
		def         plugin.Definition
		args        []string
		port        string
		result      error
		code        int
		out, errOut string
		served      int
	}{
		{"Version", def, []string{"-version"}, "", nil, 0, "audit-memory 0.1.0 (audit plugin, protocol 1)\n", "", 0},
		{"VersionWithPort", alone, []string{"--version"}, "3100", nil, 0, "audit-memory 0.1.0", "", 0},
		{"Schema", def, []string{"-schema"}, "", nil, 0, `{"type":"object"}` + "\n", "", 0},
		{"NoSchema", bare, []string{"--schema"}, "", nil, 0, `"additionalProperties": false`, "", 0},
		{"Usage", def, nil, "", nil, 2, "", "the appliance starts it", 0},
		{"UsageAlone", alone, nil, "", nil, 2, "", "PORT=N audit-memory", 0},
		{"ServeOnItsPort", ported, nil, "", nil, 0, "", "", 1},
		{"PortWithoutServer", def, nil, "3100", nil, 2, "", "-version", 0},
		{"UnknownArgument", alone, []string{"-x"}, "3100", nil, 2, "", "-version", 0},
		{"Serve", alone, nil, "3100", nil, 0, "", "", 1},
		{"ServeInterrupted", alone, nil, "3100", context.Canceled, 0, "", "", 1},
		{"ServeFails", alone, nil, "3100", errors.New("the port is taken"), 1, "", "audit-memory: the port is taken\n", 1},
		{"WrongDefinition", wrong, []string{"-version"}, "", nil, 1, "", "Version is empty", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served, result = 0, tt.result
			var out, errOut bytes.Buffer
			if code := plugin.Run(context.Background(), tt.def, tt.args, tt.port, &out, &errOut); code != tt.code {
				t.Errorf("code %d", code)
			}
			if !strings.Contains(out.String(), tt.out) || !strings.Contains(errOut.String(), tt.errOut) {
				t.Errorf("printed %q and %q", out.String(), errOut.String())
			}
			if (tt.out == "") != (out.Len() == 0) || (tt.errOut == "") != (errOut.Len() == 0) || served != tt.served {
				t.Errorf("printed %q and %q, served %d", out.String(), errOut.String(), served)
			}
		})
	}
}

func TestHandshakeLine(t *testing.T) {
	for line, want := range map[string]bool{
		"1|1|unix|/run/w/plugin123|grpc|MIIB":      true,
		"1|1|unix|/run/w/plugin123|grpc|MIIB|true": true,
		"1|1|tcp|127.0.0.1:1234|grpc|":             true,
		"1|1|unix|/run/w/plugin123|netrpc|":        false,
		"1|1|not the handshake":                    false,
		" 1|1|unix|/x|grpc|":                       false,
		"":                                         false,
	} {
		if got := plugin.IsHandshake([]byte(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestLongRecords(t *testing.T) {
	record, err := json.Marshal(map[string]any{
		"@level": "warn", "@message": strings.Repeat("\x01", 50<<10), "text": strings.Repeat("\u20ac", 50<<10), "other": strings.Repeat("y", 70<<10), "n": 7,
	})
	if err != nil {
		t.Fatal(err)
	}
	record = append(record, '\n')
	var out bytes.Buffer
	if n, err := plugin.ShortLine(&out, record); err != nil || n != len(record) {
		t.Fatalf("%d, %v", n, err)
	}
	if out.Len() > plugin.MaxLine || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%d bytes", out.Len())
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got["@level"] != "warn" || got["n"] != 7.0 || !strings.HasSuffix(got["text"].(string), "[shortened]") {
		t.Errorf("it became %.200s", out.String())
	}
	for _, as := range []string{"short\n", strings.Repeat("not JSON ", 10<<10)} {
		out.Reset()
		if _, err := plugin.ShortLine(&out, []byte(as)); err != nil || out.String() != as {
			t.Errorf("changed: %v", err)
		}
	}
}

// FuzzCheckConfig checks that no configuration breaks the check, and that none of its text is quoted.
func FuzzCheckConfig(f *testing.F) {
	for _, seed := range []string{`{}`, ``, `{"greeting":"hello"}`, `{"greeting":7}`, `[]`, `{`, `null`, `{"a":{"b":[1e400]}}`, "\xff", `{"greeting":"HUNTER2"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, config []byte) {
		problems, err := plugin.CheckConfig([]byte(childSchema), config)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			if p.Severity != plugin.SeverityError || p.Text == "" || p.Path != "" && p.Path[0] != '/' {
				t.Errorf("%q gave %+v", config, p)
			}
		}
		var object map[string]any
		if len(problems) == 0 && len(bytes.TrimSpace(config)) > 0 && json.Unmarshal(config, &object) != nil {
			t.Errorf("%q was taken", config)
		}
	})
}

// A record is long by any of its values, or by their number; it stays a record, with its level and message.
func TestShortLineOfAnything(t *testing.T) {
	list := make([]string, 20_000)
	for i := range list {
		list[i] = "element"
	}
	many := []any{"last", 1}
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("field-%05d", i), i)
	}
	for name, args := range map[string][]any{"List": {"list", list, "n", 5}, "Many": many} {
		t.Run(name, func(t *testing.T) {
			var long, out strings.Builder
			hclog.New(&hclog.LoggerOptions{Output: &long, JSONFormat: true}).Error("broken", args...)
			if n, err := plugin.ShortLine(&out, []byte(long.String())); err != nil || n != long.Len() {
				t.Fatalf("wrote %d of %d, %v", n, long.Len(), err)
			}
			var record map[string]any
			if err := json.Unmarshal([]byte(out.String()), &record); err != nil {
				t.Fatal(err)
			}
			if out.Len() > plugin.MaxLine || record["@message"] != "broken" || record["@level"] != "error" {
				t.Errorf("a line of %d bytes, message %v, level %v", out.Len(), record["@message"], record["@level"])
			}
		})
	}
}
