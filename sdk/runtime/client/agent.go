package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Capabilities implements runtime.Runtime.
func (c *Client) Capabilities(ctx context.Context) (runtime.Capabilities, error) {
	var capabilities runtime.Capabilities
	err := c.do(ctx, call{method: http.MethodGet, address: c.address(nil, "capabilities")}, &capabilities)
	return capabilities, err
}

// Spawn implements runtime.Runtime.
func (c *Client) Spawn(ctx context.Context, spec runtime.Spec) (runtime.Agent, error) {
	if spec.ID == "" {
		// The server would choose one; but then a repeat of the call would start a second agent.
		return runtime.Agent{}, runtime.Invalid("id", "is needed")
	}
	var agent runtime.Agent
	err := c.do(ctx, call{method: http.MethodPost, address: c.address(full(), "agents"), body: spec}, &agent)
	return agent, err
}

// Stop implements runtime.Runtime.
func (c *Client) Stop(ctx context.Context, id string, opts runtime.StopOptions) error {
	query := url.Values{}
	wait := stopGrace
	if opts.Force {
		query.Set("force", "true")
	}
	if opts.Grace > 0 {
		// Rounded up: 0 would mean the default.
		query.Set("timeout", strconv.FormatInt(max(1, opts.Grace.Milliseconds()), 10))
		wait = opts.Grace
	}
	return c.do(ctx, call{method: http.MethodDelete, address: c.address(query, "agents", id), wait: wait}, nil)
}

// Restart implements runtime.Runtime.
func (c *Client) Restart(ctx context.Context, id string, opts runtime.RestartOptions) (runtime.Agent, error) {
	var agent runtime.Agent
	err := c.do(ctx, call{
		method: http.MethodPost, address: c.address(full(), "agents", id, "restart"), body: map[string]bool{"fresh": opts.Fresh}, wait: stopGrace,
	}, &agent)
	return agent, err
}

// Inspect implements runtime.Runtime.
func (c *Client) Inspect(ctx context.Context, id string) (runtime.Agent, error) {
	var agent runtime.Agent
	err := c.do(ctx, call{method: http.MethodGet, address: c.address(full(), "agents", id)}, &agent)
	return agent, err
}

// List implements runtime.Runtime.
func (c *Client) List(ctx context.Context, filter runtime.ListFilter) ([]runtime.Agent, error) {
	query := full()
	if filter.Installation != "" {
		query.Set("installation", filter.Installation)
	}
	for name, value := range filter.Labels {
		query.Add("label", name+"="+value)
	}
	var answer struct {
		Agents []runtime.Agent `json:"agents"`
	}
	err := c.do(ctx, call{method: http.MethodGet, address: c.address(query, "agents")}, &answer)
	return answer.Agents, err
}

// Metrics implements runtime.Runtime.
func (c *Client) Metrics(ctx context.Context, id string) (runtime.Metrics, error) {
	var metrics runtime.Metrics
	err := c.do(ctx, call{method: http.MethodGet, address: c.address(nil, "agents", id, "metrics")}, &metrics)
	return metrics, err
}

// Recover implements runtime.Runtime.
func (c *Client) Recover(ctx context.Context, handles []runtime.Handle) ([]runtime.Recovered, error) {
	var answer struct {
		Results []runtime.Recovered `json:"results"`
	}
	body := map[string][]runtime.Handle{"handles": handles}
	if err := c.do(ctx, call{method: http.MethodPost, address: c.address(nil, "recover"), body: body}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Results) != len(handles) {
		return nil, runtime.Errorf(runtime.CodeInternal, "the runtime server answered for %d of %d handles", len(answer.Results), len(handles))
	}
	return answer.Results, nil
}

// Prune implements runtime.Runtime.
func (c *Client) Prune(ctx context.Context, opts runtime.PruneOptions) (runtime.PruneReport, error) {
	body := struct {
		Installation string   `json:"installation,omitempty"`
		Keep         []string `json:"keep,omitempty"`
		GraceMs      int64    `json:"graceMs,omitempty"`
		DryRun       bool     `json:"dryRun,omitempty"`
	}{opts.Installation, opts.Keep, opts.Grace.Milliseconds(), opts.DryRun}
	var report runtime.PruneReport
	err := c.do(ctx, call{method: http.MethodPost, address: c.address(nil, "prune"), body: body}, &report)
	return report, err
}
