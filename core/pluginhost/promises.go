package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/conformance"
)

// promisesTime bounds the checks of the contract, besides the start.
const promisesTime = 15 * time.Second

// promises adds the quick checks of the contract to the report. They configure the instance, which a running one
// would not be spared: it has the same settings, and so the same agents. So they are for a plugin that is not in
// use, which is when an operator wants to know whether it is any good.
func (c *child) promises(ctx context.Context, i *instance, r *report) {
	c.mu.Lock()
	state, config := c.status.State, c.spec.Config
	c.mu.Unlock()
	if state != core.PluginDisabled && state != core.PluginQuarantined {
		r.add("contract", core.PluginCheckSkipped, "it is in use; after wardroom plugin disable %s its promises are checked as well", r.Name)
		return
	}
	if config == nil {
		config = json.RawMessage("{}")
	}
	i.conn.SetHostServices(c.services())
	ctx, cancel := context.WithTimeout(ctx, promisesTime)
	defer cancel()
	kept, broken := 0, 0
	for _, result := range conformance.Quick(ctx, i.conn, config) {
		switch {
		case !result.Passed():
			broken++
			r.add("contract", core.PluginCheckFailed, "%s: %s", result.Name, shortenTo(c.redact(fmt.Sprintf("%s: %v", result.About, result.Err)), 300))
		case result.Skipped == "":
			kept++
		}
	}
	if broken == 0 {
		r.add("contract", core.PluginCheckOK, "it keeps its promises, as far as they can be checked without agents: %d were", kept)
	}
}
