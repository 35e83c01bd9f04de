package fakemodel

import "maps"

// shellCall is the call of a shell tool, in the one of codex's forms that this model was offered; ok is false
// without such a tool.
func shellCall(x *exchange, tools map[string]responsesTool, command string) (call object, ok bool) {
	args := object{"cmd": command}
	if x.turn.directives.Escalate && x.step.kind == kindTool {
		maps.Copy(args, object{
			"sandbox_permissions": "require_escalated",
			"justification":       "fakemodel asks to run outside the sandbox",
		})
	}
	name := shellTool(tools)
	var arguments object
	switch name {
	case "":
		return nil, false
	case "exec_command":
		arguments = args
	case "shell_command":
		delete(args, "cmd")
		args["command"] = command
		arguments = args
	case "shell":
		delete(args, "cmd")
		args["command"] = []string{"bash", "-lc", command}
		arguments = args
	case "exec":
		program := "const r = await tools.exec_command(" + compact(args) + ");\ntext(r.output ?? JSON.stringify(r));"
		return customCall(x, name, tools[name].namespace, program), true
	case "local_shell":
		return object{
			"type": "local_shell_call", "id": x.id("lsh_", command), "call_id": x.id("call_", command),
			"action": object{"type": "exec", "command": []string{"bash", "-lc", command}}, "status": "completed",
		}, true
	}
	return functionCall(x, name, arguments), true
}

// shellTool is the name of the shell tool, or empty. "exec" is that of code mode, where the model writes a
// program that calls tools.
func shellTool(tools map[string]responsesTool) string {
	for _, name := range []string{"exec_command", "shell_command", "shell"} {
		if _, ok := tools[name]; ok {
			return name
		}
	}
	if tool, ok := tools["exec"]; ok && tool.get("type").text() == "custom" {
		return "exec"
	}
	if _, ok := tools["local_shell"]; ok {
		return "local_shell"
	}
	return ""
}

// toolCall is the call of any tool by its name. Where only code mode has tools, a program calls it; the text of a tool that takes
// one is the field input.
func toolCall(x *exchange) object {
	tools, name, input := responsesTools(x.body.node), x.step.text, x.step.input
	tool, known := tools[name]
	program := ""
	switch exec, mode := tools["exec"]; {
	case known && tool.get("type").text() == "custom":
		program, _ = input["input"].(string)
	case !known && mode && exec.get("type").text() == "custom":
		program = "text(JSON.stringify(await tools." + name + "(" + compact(input) + ")));"
		name, tool = "exec", exec
	default:
		call := functionCall(x, name, input)
		if known && tool.namespace != "" {
			call["namespace"] = tool.namespace
		}
		return call
	}
	return customCall(x, name, tool.namespace, program)
}

// customCall is the call of a tool that takes a text.
func customCall(x *exchange, name, namespace, input string) object {
	call := object{
		"type": "custom_tool_call", "id": x.id("ctc_", x.step.text), "call_id": x.id("call_", x.step.text), "name": name,
		"input": input, "status": "completed",
	}
	if namespace != "" {
		call["namespace"] = namespace
	}
	return call
}

func functionCall(x *exchange, name string, arguments object) object {
	return object{
		"type": "function_call", "id": x.id("fc_", x.step.text), "call_id": x.id("call_", x.step.text), "name": name,
		"arguments": compact(arguments), "status": "completed",
	}
}
