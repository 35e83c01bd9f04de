package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) threadWatch() *cobra.Command {
	var execution, after string
	var all bool
	cmd := &cobra.Command{
		Use:   "watch [ID]",
		Short: "Show live what a thread does, or all threads of an execution",
		Long: "Show live what a thread does, one line for each event, until it is over; with --execution all threads of an\n" +
			"execution, until none is left. What a thread asks is shown with the command that answers it. Exits with 1\n" +
			"when a thread failed or was stopped.",
		Example: "  wardroom thread watch thread_...\n  wardroom thread watch --execution exec_... --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 0) == (execution == "") {
				return usagef(cmd, "name a thread, or an execution with --execution")
			}
			w := watchedThreads{executionID: execution, after: after}
			if all {
				w.after = "0"
			}
			if len(args) == 1 {
				w.thread = args[0]
				err := c.call(cmd, func(ctx context.Context, api *client.Client) error {
					t, err := api.GetThread(ctx, w.thread)
					if err == nil {
						w.executionID = t.ExecutionID
					}
					return err
				})
				if err != nil {
					return err
				}
			}
			return c.watchThreads(cmd, w)
		},
	}
	cmd.Flags().StringVar(&execution, "execution", "", "all threads of this execution")
	cmd.Flags().BoolVar(&all, "all", false, "what happened before as well")
	cmd.Flags().StringVar(&after, "after", "", "what happened after this event as well: the number that -o json shows as id")
	exclusive(cmd, "all", "after")
	return cmd
}

// watchedThreads says what is watched.
type watchedThreads struct {
	executionID string
	thread      string // "": all of the execution
	after       string // id of an event; "": only what happens from now on
}

// threadWatch shows what threads do.
type threadWatch struct {
	watchedThreads
	c     *cli
	api   *client.Client
	print *threadPrinter

	names  map[string]string // of threads, by id
	states map[string]string // last known status, by id; those that are watched
	warned map[string]int    // warnings of workspaces that were shown, by thread
}

// watchThreads follows threads until they are over, and makes how they ended the command's outcome.
func (c *cli) watchThreads(cmd *cobra.Command, what watchedThreads) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	w := &threadWatch{
		watchedThreads: what, c: c, api: api, print: newThreadPrinter(c),
		names: map[string]string{}, states: map[string]string{}, warned: map[string]int{},
	}
	ctx := cmd.Context()
	err = w.run(ctx)
	if err != nil && ctx.Err() != nil {
		return &interruption{cause: err, hint: w.hint()}
	}
	return err
}

func (w *threadWatch) hint() string {
	if w.thread != "" {
		return fmt.Sprintf("the thread goes on; watch it with `wardroom thread watch %s`, end it with `wardroom thread stop %s`",
			clean(w.thread), clean(w.thread))
	}
	id := clean(w.executionID)
	return fmt.Sprintf("the threads go on; watch them with `wardroom thread watch --execution %s`, end them with "+
		"`wardroom execution cancel %s`", id, id)
}

func (w *threadWatch) run(ctx context.Context) error {
	var ids []string
	if w.thread != "" {
		ids = []string{w.thread}
	}
	stream, err := w.api.WatchThreads(ctx, w.executionID, ids, w.after)
	if err != nil {
		return err
	}
	defer stream.Close()
	w.c.noteOutages(stream)
	for {
		event, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF):
			return w.outcome()
		case err != nil:
			return err
		}
		if over, err := w.happened(ctx, event); over || err != nil {
			return err
		}
	}
}

// happened shows an event, and reports whether it was the last one.
func (w *threadWatch) happened(ctx context.Context, event client.Event) (over bool, err error) {
	if !w.c.tables() {
		if err := w.c.printDocument(event); err != nil {
			return false, err
		}
	}
	switch event.Type {
	case client.EventConnected:
		// What happens from here on comes through the stream; how things are is asked now, so that nothing lies
		// between the two.
		if err := w.look(ctx); err != nil {
			return true, err
		}
		if w.after == "" && w.over() {
			return true, w.outcome()
		}
		return false, nil
	case client.EventGap:
		if w.c.tables() {
			w.print.note("some events are not kept any more: " + compact(event.Data, 160))
		}
		return false, w.look(ctx)
	}
	frame, err := event.Thread()
	if err != nil {
		return true, err
	}
	if _, known := w.names[frame.ThreadID]; !known {
		if err := w.look(ctx); err != nil { // one that began meanwhile
			return true, err
		}
	}
	data := json.RawMessage(frame.Data.DataJSON)
	kind := persistedKind(event.Type, frame)
	if w.c.tables() {
		w.print.event(w.names[frame.ThreadID], frame.ThreadID, time.UnixMilli(frame.Data.TimestampMs), kind, data)
	}
	if d, err := frame.Decode(); err == nil && kind == client.EventThreadStatus && d.Status == client.ThreadStarting {
		if err := w.look(ctx); err != nil { // its workspace is there
			return true, err
		}
	}
	if status, ended := endOf(kind); ended {
		w.states[frame.ThreadID] = status
		// Others may have begun that the stream has told nothing of yet.
		if err := w.look(ctx); err != nil {
			return true, err
		}
		if w.over() {
			return true, w.outcome()
		}
	}
	return false, nil
}

// persistedKind gives an event that travels as a status the kind that it is stored as.
func persistedKind(kind string, frame *client.ThreadStreamEvent) string {
	if kind != client.EventThreadStatus {
		return kind
	}
	if d, err := frame.Decode(); err == nil {
		switch hidden := threadKindPrefix + d.Status; hidden {
		case client.EventThreadReady, client.EventThreadIdle, client.EventThreadStopped, client.EventThreadSummaryUpdated:
			return hidden
		}
	}
	return kind
}

// endOf returns the status that an event ends a thread with.
func endOf(kind string) (status string, ended bool) {
	switch kind {
	case client.EventThreadCompleted:
		return client.ThreadCompleted, true
	case client.EventThreadFailed:
		return client.ThreadFailed, true
	case client.EventThreadStopped:
		return client.ThreadStopped, true
	}
	return "", false
}

// look asks how the watched threads are. What a thread asks now is shown, unless the stream has shown it.
func (w *threadWatch) look(ctx context.Context) error {
	first := len(w.names) == 0
	ctx, cancel := w.c.bounded(ctx)
	defer cancel()
	if w.thread != "" {
		t, err := w.api.GetThread(ctx, w.thread)
		if err != nil {
			return w.c.late(ctx, err)
		}
		w.saw(t, first)
		return nil
	}
	filter := client.ThreadFilter{ExecutionID: w.executionID, Page: client.Page{Limit: allLimit}}
	for {
		list, err := w.api.ListThreads(ctx, filter)
		if err != nil {
			return w.c.late(ctx, err)
		}
		for i := range list.Threads {
			w.saw(&list.Threads[i], first)
		}
		if !list.HasMore || len(list.Threads) == 0 {
			return nil
		}
		filter.Cursor = list.NextCursor
		filter.Offset += len(list.Threads) // for a server without cursors; a cursor wins
	}
}

func (w *threadWatch) saw(t *client.Thread, first bool) {
	w.names[t.ID] = t.Name
	if t.Workspace != nil && w.c.tables() {
		for ; w.warned[t.ID] < len(t.Workspace.Warnings); w.warned[t.ID]++ {
			w.print.note("warning: " + t.Workspace.Warnings[w.warned[t.ID]])
		}
	}
	if threadOver(w.states[t.ID]) {
		return
	}
	if !threadOver(t.Status) || w.after == "" {
		// With older events to come, the end of a thread counts once it was shown.
		w.states[t.ID] = t.Status
	} else if w.states[t.ID] == "" {
		w.states[t.ID] = client.ThreadPending
	}
	if first && w.after == "" && w.c.tables() {
		w.print.state(t)
	}
}

// over reports whether nothing can happen any more.
func (w *threadWatch) over() bool {
	for _, status := range w.states {
		if !threadOver(status) {
			return false
		}
	}
	return len(w.states) > 0
}

// outcome makes how the threads ended the command's exit code.
func (w *threadWatch) outcome() error {
	var bad []string
	for id, status := range w.states {
		if threadOver(status) && status != client.ThreadCompleted {
			bad = append(bad, id)
		}
	}
	switch {
	case len(bad) == 0:
		return nil
	case w.thread != "":
		id := clean(w.thread)
		return &outcomeError{
			code: exitFailed, message: fmt.Sprintf("thread %s %s", id, endWord(w.states[w.thread])),
			hint: fmt.Sprintf("see why with `wardroom thread get %s`", id),
		}
	}
	return &outcomeError{
		code: exitFailed, message: fmt.Sprintf("%s of %d did not complete", count(len(bad), "thread"), len(w.states)),
		hint: fmt.Sprintf("see which with `wardroom thread list --execution %s`", clean(w.executionID)),
	}
}

func endWord(status string) string {
	if status == client.ThreadStopped {
		return "was stopped"
	}
	return strings.TrimSpace(status)
}
