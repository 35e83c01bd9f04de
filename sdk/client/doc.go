// Package client is a Go client of Wardroom's REST API: patterns, executions, questions, batches, agents, managed
// threads with their workspaces and memory, webhooks, health.
//
// It owns the shapes of the API's answers as a caller sees them, typed errors, retries, walking of long
// lists and event streams that resume by themselves. It does not hold any state of the server, and it does
// not connect agents: that is package sdk/agent. Third parties and the wardroom command line call it; it
// needs the standard library only. Receivers of webhooks verify them with package sdk/webhook.
//
//	c, err := client.New("http://127.0.0.1:8080", client.Options{Token: token})
//	...
//	exec, err := c.Execute(ctx, client.ExecuteRequest{
//		Pattern: "triage",
//		Input:   json.RawMessage(`{"text":"my invoice is wrong"}`),
//	})
//
// Every failure of the API is an *Error with the code of the interface; failures of the network are
// *ConnectionError. A Client and all its methods are safe for concurrent use; a Stream is not.
package client
