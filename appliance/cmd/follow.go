package cmd

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wardroom/wardroom/sdk/client"
)

// follow shows the events of an execution until it is over, and makes its outcome the command's. A signal
// ends the watching only.
func (c *cli) follow(ctx context.Context, api *client.Client, stream *client.Stream) error {
	defer stream.Close()
	c.noteOutages(stream)
	paint := c.painter(c.deps.Stdout)
	for event, err := range stream.Events() {
		if err != nil {
			if ctx.Err() != nil {
				return &interruption{cause: err, hint: followHint(stream.ExecutionID())}
			}
			return err
		}
		data, err := event.Decode()
		if err != nil {
			return err
		}
		if err := c.printEvent(event, data, paint); err != nil {
			return err
		}
		if event.Last() {
			id := data.ExecutionID
			if id == "" {
				id = stream.ExecutionID()
			}
			return executionOutcome(id, event.Type, data.Error)
		}
	}
	// The execution was over, and its last event seen, before this stream began.
	exec, err := api.GetExecution(ctx, stream.ExecutionID())
	if err != nil {
		return err
	}
	return executionOutcome(exec.ExecutionID, exec.Status, exec.Error)
}

func followHint(id string) string {
	if id == "" {
		return "the execution goes on; find it with `wardroom execution list`"
	}
	id = clean(id)
	return fmt.Sprintf("the execution goes on; watch it with `wardroom execution watch %s`, "+
		"end it with `wardroom execution cancel %s`", id, id)
}

// printEvent writes one event: a line for a person, or one JSON document on a line for a script.
func (c *cli) printEvent(event client.Event, data client.EventData, paint func(style, string) string) error {
	if !c.tables() {
		return c.printDocument(event)
	}
	name := paint(eventStyle(event.Type), fmt.Sprintf("%-17s", clean(event.Type)))
	_, err := fmt.Fprintf(c.deps.Stdout, "%s %s\n", name, eventText(event, data))
	return err
}

// printDocument writes one of a series of values: JSON on a line of its own, or a document of YAML.
func (c *cli) printDocument(value any) error {
	if event, ok := value.(client.Event); ok && !json.Valid(event.Data) {
		return fmt.Errorf("data of a %s event is not JSON", clean(event.Type))
	}
	body, err := document(value)
	switch {
	case err != nil:
		return err
	case c.path != nil:
		return c.printPath(body)
	case c.output == "name":
		return &usageError{message: "-o name is for answers with ids, and these are events", hint: "pick a part of them with -o jsonpath=PATH"}
	case c.output == "yaml":
		if _, err := fmt.Fprintln(c.deps.Stdout, "---"); err != nil {
			return err
		}
		return c.printYAML(body)
	}
	_, err = c.deps.Stdout.Write(escaped(body, jsonEscape))
	return err
}

func eventStyle(kind string) style {
	switch kind {
	case client.EventCompleted:
		return styleGood
	case client.EventFailed, client.EventCancelled:
		return styleBad
	case client.EventQuestionExpired:
		return styleBad
	case client.EventQuestionAsked, client.EventMessageEscalated:
		return styleBusy
	case client.EventAgentProgress, client.EventRoleBound, client.EventRoleReleased:
		return styleFaint
	}
	return stylePlain
}
