package cmd

import (
	"testing"
	"time"

	"github.com/rivo/uniseg"

	"github.com/wardroom/wardroom/sdk/client"
)

// TestWorkspacesFit has the list within 80 columns: what cannot be cut, and the least of what can.
func TestWorkspacesFit(t *testing.T) {
	var w client.Workspace
	w.ID, w.Status, w.CreatedAt = "ws_01M8BZBNK6Q6410MF83YQMEBB7", "released", time.Now().Add(-100*time.Minute)
	least := map[string]int{"WORKSPACE": len(w.ID), "STATUS": len("provisioning"), "AGE": len("99m")}
	columns := 0
	for _, c := range workspaces.columns {
		if c.wide {
			continue
		}
		width := max(least[c.head], uniseg.StringWidth(c.head))
		if c.cut > 0 {
			width = max(leastCut, uniseg.StringWidth(c.head))
		}
		columns += width + 2
	}
	if columns -= 2; columns > 80 {
		t.Errorf("the list takes %d columns at least", columns)
	}
}
