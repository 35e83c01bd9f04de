package threads

import (
	"context"
	"maps"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

// prepare makes the workspace of a thread and writes what its agent should know. It returns once the thread is
// starting, or its end was decided on.
func (t *thread) prepare(ctx context.Context) {
	if t.record().Status == core.ThreadPending && !t.must(ctx, func(c *change) error {
		c.rec.Status = core.ThreadPreparing
		c.event(core.EventThreadStatus, statusData{Status: string(core.ThreadPreparing)})
		return nil
	}) {
		return
	}
	ws, memory, err := t.furnish(ctx)
	if ctx.Err() != nil {
		return
	}
	t.must(ctx, func(c *change) error {
		if err != nil {
			t.log.Warn("a workspace cannot be prepared", "error", err)
			c.fail("", threadError(err))
			return nil
		}
		c.prepared(ws, memory)
		return nil
	})
}

// prepared notes that everything is there that the agent starts with.
func (c *change) prepared(ws *core.Workspace, memory *core.MemoryContext) {
	c.rec.Workspace = ws
	metadata := maps.Clone(c.rec.Metadata)
	if metadata == nil {
		metadata = make(map[string]any, 1)
	}
	metadata[memoryContextKey] = summaryOf(memory)
	c.rec.Metadata = metadata
	c.rec.Status, c.rec.StatusReason, c.rec.Begun = core.ThreadStarting, "", true
	c.event(core.EventThreadStatus, statusData{Status: string(core.ThreadStarting)})
}

// furnish checks the workspace out and writes the files. What may pass by itself is tried again some times. Doing it
// again after a crash does no harm.
func (t *thread) furnish(ctx context.Context) (*core.Workspace, *core.MemoryContext, error) {
	r := t.record()
	var retry pause.Backoff
	for tries := 1; ; tries++ {
		ws, memory, err := t.furnishOnce(ctx, r)
		if err == nil || ctx.Err() != nil || !runtimecode.Passing(err) || tries >= maxTries {
			return ws, memory, err
		}
		t.log.Info("a workspace cannot be prepared yet", "error", err)
		if !t.s.pause(ctx, retry.Next()) {
			return nil, nil, ctx.Err()
		}
	}
}

func (t *thread) furnishOnce(ctx context.Context, r *core.ThreadRecord) (*core.Workspace, *core.MemoryContext, error) {
	var ws *core.Workspace
	var err error
	if r.Workspace != nil {
		if ws, err = t.s.opts.Workspaces.ProvisionWorkspace(ctx, r.Workspace.ID); err != nil {
			return nil, nil, err
		}
	}
	memory, err := t.s.recall(ctx, r, ws, nil)
	if err != nil {
		return nil, nil, err
	}
	if ws != nil {
		err = t.s.opts.Workspaces.WriteContext(ctx, ws.ID, r.ID, contextFiles(r, memory))
	}
	return ws, memory, err
}

// contextFiles are the caller's files and the memory.
func contextFiles(r *core.ThreadRecord, memory *core.MemoryContext) []core.ContextFile {
	own := r.Preparation.ContextFiles
	return append(own[:len(own):len(own)], memory.File)
}
