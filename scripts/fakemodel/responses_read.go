package fakemodel

import "strings"

func readResponses(b node) (user string, results []string) {
	if text, ok := b.get("input").str(); ok {
		return text, nil
	}
	for _, item := range b.get("input").list() {
		switch first(item.get("type").text(), "message") {
		case "message":
			if item.get("role").text() != "user" {
				continue
			}
			if text := lastSaid(item.get("content")); text != "" {
				user, results = text, nil
			}
		case "agent_message":
			if text := task(item.get("content").list()); text != "" {
				user, results = text, nil
			}
		case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
			results = append(results, toolOutput(item.get("output")))
		}
	}
	return user, results
}

// task is what an agent is to do that another one started, by the message of which that is a part; or empty.
func task(content []node) string {
	text := ""
	for i, part := range content {
		if i == 0 && !strings.Contains(part.get("text").text(), "Message Type: NEW_TASK") {
			return ""
		}
		text = first(part.get("encrypted_content").text(), text)
	}
	return text
}

// lastSaid is the last part of a message that the user wrote.
func lastSaid(content node) string {
	parts := content.list()
	if _, ok := content.str(); ok {
		parts = []node{{map[string]any{"text": content.v}}}
	}
	said := ""
	for _, part := range parts {
		text := clean(part.get("text").text())
		if text != "" && !strings.HasPrefix(text, "# AGENTS.md instructions") {
			said = text
		}
	}
	return said
}

// toolOutput is a text, parts, or an object around one of them.
func toolOutput(output node) string {
	if output.isObject() {
		if !output.has("content") {
			return output.compact()
		}
		output = output.get("content")
	}
	return joined(output)
}

// responsesTools are the tools by name, from the plain list, from namespaces, and from the input, where codex
// puts those of its code mode.
func responsesTools(b node) map[string]responsesTool {
	tools := map[string]responsesTool{}
	add := func(list []node) {
		for _, tool := range list {
			if tool.get("type").text() != "namespace" {
				tools[first(tool.get("name").text(), tool.get("type").text())] = responsesTool{node: tool}
				continue
			}
			for _, inner := range tool.get("tools").list() {
				name := inner.get("name").text()
				if _, known := tools[name]; !known {
					tools[name] = responsesTool{inner, tool.get("name").text()}
				}
			}
		}
	}
	add(b.get("tools").list())
	for _, item := range b.get("input").list() {
		if item.get("type").text() == "additional_tools" {
			add(item.get("tools").list())
		}
	}
	return tools
}

type responsesTool struct {
	node
	namespace string // or empty
}
