package codex_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// serverArg makes the test binary an MCP server on its standard streams.
const serverArg = "-wardroom-codex-server"

// The tools of the server: codex asks before it calls the first, and the second asks the user for a colour and a note.
const serverTools = `{"tools":[{"name":"change","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}},` +
	`{"name":"colour","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`

const serverForm = `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":"Which colour?","requestedSchema":` +
	`{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]},"note":{"type":"string"}},"required":["colour"]}}}` + "\n"

// serve answers the requests of one client until its input ends.
func serve(in io.Reader, out io.Writer) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Protocol json.RawMessage `json:"protocolVersion"`
				Name     string          `json:"name"`
			} `json:"params"`
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := "{}"
		switch {
		case m.Method == "initialize":
			result = `{"protocolVersion":` + string(m.Params.Protocol) +
				`,"capabilities":{"tools":{}},"serverInfo":{"name":"own","version":"1"}}`
		case m.Method == "tools/list":
			result = serverTools
		case m.Method == "tools/call" && m.Params.Name == "colour":
			fmt.Fprintf(out, serverForm, m.ID) // the id of the call, by which its answer finds it
			continue
		case m.Method == "tools/call":
			result = `{"content":[{"type":"text","text":"changed"}]}`
		case m.Method == "": // what the user said
			text, err := json.Marshal(string(m.Result))
			if err != nil {
				return
			}
			result = `{"content":[{"type":"text","text":` + string(text) + `}]}`
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// configured is the adapter with keys of config.toml beside its own.
type configured struct {
	agentcli.Adapter
	keys []string
}

func (c configured) Plan(spec *runtime.Spec, room agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	p, err := c.Adapter.Plan(spec, room, life)
	for _, key := range c.keys {
		p.Args = append(p.Args, "-c", key)
	}
	return p, err
}

// withServer is the adapter of a codex that has the MCP server.
func withServer(adapter agentcli.Adapter) (agentcli.Adapter, error) {
	self, err := os.Executable()
	return configured{adapter, []string{fmt.Sprintf("mcp_servers.own={command=%q,args=[%q]}", self, serverArg)}}, err
}
