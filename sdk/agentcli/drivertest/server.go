package drivertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// serverArg makes the test binary an MCP server on its standard streams.
const serverArg = "-wardroom-drivertest-server"

// serverTools are the tools of the server: a CLI asks before it calls the first, the next three ask the user, one ends the server
// within its call, one fails, and the last one is never answered.
const serverTools = `{"tools":[{"name":"change","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}},` +
	`{"name":"colour","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"confirm","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"size","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"vanish","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"fail","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"stall","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`

// serverForms are what the tools ask the user, by their names.
var serverForms = map[string]string{
	"colour": `{"message":"Which colour?","requestedSchema":{"type":"object","properties":` +
		`{"colour":{"type":"string","enum":["red","blue"]},"note":{"type":"string"}},"required":["colour"]}}`,
	"confirm": `{"message":"Really?","requestedSchema":{"type":"object","properties":{}}}`,
	"size": `{"message":"Which size?","requestedSchema":{"type":"object","properties":` +
		`{"size":{"type":"string","enum":["3","2","1"]}},"required":["size"]}}`,
}

// ServerCommand returns the command of an MCP server that is this test binary, whose TestMain calls Main.
func ServerCommand() (argv []string, err error) {
	self, err := os.Executable()
	return []string{self, serverArg}, err
}

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
		case m.Method == "tools/call" && serverForms[m.Params.Name] != "":
			// The id of the call, by which its answer finds it.
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":%s}`+"\n", m.ID, serverForms[m.Params.Name])
			continue
		case m.Method == "tools/call" && m.Params.Name == "vanish":
			return
		case m.Method == "tools/call" && m.Params.Name == "stall":
			continue
		case m.Method == "tools/call" && m.Params.Name == "fail":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"it broke"}}`+"\n", m.ID)
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
