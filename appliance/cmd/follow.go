package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/wardroom/wardroom/sdk/client"
)

// follow shows the events of an execution until it is over, and makes its outcome the command's. A signal
// ends the watching only.
func (c *cli) follow(ctx context.Context, api *client.Client, stream *client.Stream) error {
	defer stream.Close()
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
	if c.output != "table" {
		return c.printEventDocument(event)
	}
	name := paint(eventStyle(event.Type), fmt.Sprintf("%-14s", clean(event.Type)))
	_, err := fmt.Fprintf(c.deps.Stdout, "%s %s\n", name, eventText(event, data))
	return err
}

func (c *cli) printEventDocument(event client.Event) error {
	if !json.Valid(event.Data) {
		return fmt.Errorf("data of a %s event is not JSON", event.Type)
	}
	if c.output == "yaml" {
		body, err := json.Marshal(event)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(c.deps.Stdout, "---"); err != nil {
			return err
		}
		return c.printYAML(body)
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(event); err != nil {
		return err
	}
	_, err := c.deps.Stdout.Write(line.Bytes())
	return err
}

func eventStyle(kind string) style {
	switch kind {
	case client.EventCompleted:
		return styleGood
	case client.EventFailed, client.EventCancelled:
		return styleBad
	case client.EventAgentProgress:
		return styleFaint
	}
	return stylePlain
}

// eventText is what a person wants to know of an event.
func eventText(event client.Event, d client.EventData) string {
	switch event.Type {
	case client.EventStarted:
		return clean(d.ExecutionID)
	case client.EventAgentResult:
		return clean(withStep(d.AgentID, d.Step)) + "  " + compact(d.Result, 160)
	case client.EventAgentProgress:
		text := shorten(clean(d.Text), 160)
		if text == "" {
			text = compact(d.Data, 160)
		}
		return clean(withStep(d.AgentID, d.Step)) + "  " + text
	case client.EventStepCompleted:
		text := clean(d.Step) + "  " + compact(d.Result, 160)
		if d.Confidence != nil {
			text += fmt.Sprintf("  confidence %.2f", *d.Confidence)
		}
		return text
	case client.EventCompleted:
		return compact(d.Result, 0)
	case client.EventFailed:
		if d.Error != nil {
			return clean(d.Error.Code + ": " + d.Error.Message)
		}
	case client.EventCancelled:
		return clean(d.Reason)
	}
	return compact(event.Data, 160)
}

func withStep(agent, step string) string {
	if step == "" {
		return agent
	}
	return agent + " (" + step + ")"
}
