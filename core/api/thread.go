package api

import (
	"net/http"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const threadsPath = "/api/managed-threads"

func threadPath(id string) string { return threadsPath + "/" + id }

// threadRoutes are there when the service has managed threads at all.
func (s *Server) threadRoutes() []Route {
	if s.opts.Threads == nil {
		return nil
	}
	const tag, resource, one = "managed threads", "threads", threadsPath + "/{threadId}"
	reads := func(r Route) Route {
		r.Method, r.Tag, r.Resource = http.MethodGet, tag, resource
		r.Action, r.Scope = "threads.read", "executions:read"
		return r
	}
	acts := func(r Route) Route {
		r.Tag, r.Resource, r.Scope = tag, resource, "executions:create"
		return r
	}
	thread := []Response{{Status: 200, Body: wire.Thread{}, Doc: "The thread."}}
	page := []Response{{Status: 200, Body: threadList{}, Doc: "A page of threads."}}
	filter := append(pageParams(),
		Param{Name: "status", Type: ParamString, Enum: words(core.ThreadStatuses), Doc: "Status."},
		Param{Name: "role", Type: ParamString, Doc: "Role."},
		Param{Name: "agentType", Type: ParamString, Doc: "Agent type."}, creatorParam)
	ofExecution := reads(Route{
		Path: threadsPath + "/executions/{executionId}", OperationID: "listExecutionThreads",
		Summary: "List the threads of one execution, newest first.",
		Query:   filter, Responses: page, Fails: []int{404}, Handle: s.listExecutionThreads,
	})
	ofExecution.Resource, ofExecution.Action = "executions", "executions.read"
	return []Route{
		reads(Route{
			Path: threadsPath, OperationID: "listThreads", Summary: "List managed threads, newest first.",
			Query: append(filter[:len(filter):len(filter)],
				Param{Name: "executionId", Type: ParamString, Doc: "Execution that they belong to."}),
			Responses: page, Fails: []int{404}, Handle: s.listThreads,
		}),
		acts(Route{
			Method: http.MethodPost, Path: threadsPath, OperationID: "spawnThread", Action: "threads.spawn",
			Summary: "Start a managed thread: an agent with an objective, in a workspace of its own.",
			Description: "The answer comes once the thread is stored; it goes on by itself. What prepare answered can be " +
				"sent as it is: its workspace is taken over, and the memory file is written anew. Values of env are " +
				"never answered or logged.",
			Body:      &Body{JSON: new(spawnThreadRequest)},
			Responses: []Response{{Status: 201, Body: wire.Thread{}, Location: true, Doc: "It is stored."}},
			Fails:     []int{404, 409}, Creates: true, Recover: s.recoverThreadSpawn, Handle: decoded(s.spawnThread),
		}),
		{
			Method: http.MethodPost, Path: threadsPath + "/prepare", OperationID: "prepareThread", Tag: tag,
			Resource: resource, Action: "threads.prepare", Scope: "executions:read",
			Summary: "Build what a thread would begin with, without starting it.",
			Description: "Repository and branch are resolved, and id and path of the workspace are reserved. Nothing is " +
				"checked out unless provision is true; that, and a repository by its URL, need the scope executions:create.",
			Body:      &Body{JSON: new(prepareThreadRequest)},
			Responses: []Response{{Status: 200, Body: wire.ThreadPlan{}, Doc: "What a spawn of it would begin with."}},
			Fails:     []int{404, 409}, Handle: decoded(s.prepareThread),
		},
		reads(Route{
			Path: one, OperationID: "getThread", Summary: "Get one managed thread.",
			Responses: thread, Fails: []int{404}, Handle: s.getThread,
		}),
		acts(Route{
			Method: http.MethodDelete, Path: one, OperationID: "stopThread", Action: "threads.stop",
			Summary: "Stop a thread and its agent. Stopping one that is over is no error.",
			Query: []Param{
				{Name: "force", Type: ParamBoolean, Default: "false", Doc: "Kill the agent at once."},
				{Name: "timeout", Type: ParamInteger, Min: 1, Max: maxStopGrace.Milliseconds(),
					Doc: "Milliseconds that the agent has to end by itself. Default: the runtime's."},
			},
			Responses: []Response{{Status: http.StatusNoContent, Doc: "It is over."}},
			Fails:     []int{404, 408, 409, 502}, Handle: s.stopThread,
		}),
		acts(Route{
			Method: http.MethodPost, Path: one + "/send", OperationID: "sendThread", Action: "threads.send",
			Summary: "Give a thread exactly one of a message, raw terminal input, or keys.",
			Description: "A message is stored, and given to the agent when its turn comes, in the order of the sends; queued " +
				"says how many wait. With expectResponse the answer comes at the end of the message's turn, whatever " +
				"happens to the server meanwhile: the same Idempotency-Key waits for it again. raw and keys go to the agent's terminal at once. Key names are those of " +
				"docs/managed-agents.md: ENTER, ESC, TAB, UP, CTRL_C and so on.",
			Body:      &Body{JSON: new(wire.ThreadInput)},
			Responses: []Response{{Status: 200, Body: core.ThreadReceipt{}, Doc: "It is stored, or typed."}},
			Fails:     []int{404, 408, 409, 502}, Creates: true, Recover: s.recoverThreadSend, Handle: s.sendThread,
		}),
		acts(Route{
			Method: http.MethodPost, Path: one + "/answer", OperationID: "answerThread", Action: "threads.answer",
			Summary: "Answer what a blocked thread asks: an approval, a question, or the code of a login.",
			Body:    &Body{JSON: new(wire.ThreadAnswer)}, Responses: thread,
			Fails: []int{404, 409, 502}, Handle: decoded(s.answerThread),
		}),
		acts(Route{
			Method: http.MethodPost, Path: one + "/complete", OperationID: "completeThread", Action: "threads.complete",
			Summary: "End a thread with an outcome. The finish actions of its policy are done.",
			Body:    &Body{JSON: new(wire.ThreadClose), Optional: true}, Responses: thread,
			Fails: []int{404, 409}, Handle: decoded(s.completeThread),
		}),
		acts(Route{
			Method: http.MethodPost, Path: one + "/continue", OperationID: "continueThread", Action: "threads.spawn",
			Summary: "Go on with a thread that is over.",
			Description: "A new thread takes over its workspace, its session where the agent can resume one, and the messages that " +
				"got no answer; continues and continuedBy name the other. It belongs to the same execution, or to a new one when " +
				"that is over. Values of env come beside those of the old thread, and over them. With expectResponse the answer comes at " +
				"the end of the turn of message, whatever happens to the server meanwhile: the same Idempotency-Key waits for it again.",
			Body:      &Body{JSON: new(wire.ThreadContinue), Optional: true},
			Responses: []Response{{Status: 201, Body: threadContinuedBody{}, Location: true, Doc: "The new thread is stored, or its turn over."}},
			Fails:     []int{404, 408, 409}, Creates: true, Recover: s.recoverThreadContinue, Handle: decoded(s.continueThread),
		}),
		reads(Route{
			Path: one + "/queue", OperationID: "listThreadQueue",
			Summary: "List the messages of a thread that have no answer yet, in their order.",
			Query: []Param{
				{Name: "after", Type: ParamInteger, Default: "0", Doc: "Only messages after this number."},
				{Name: "limit", Type: ParamInteger, Default: "20", Min: 1, Max: core.MaxPageLimit, Doc: "Messages at most."},
			},
			Responses: []Response{{Status: 200, Body: core.ThreadQueue{}, Doc: "A page of messages."}},
			Fails:     []int{404}, Handle: s.listThreadQueue,
		}),
		acts(Route{
			Method: http.MethodDelete, Path: one + "/queue/{inputId}", OperationID: "withdrawThreadInput", Action: "threads.send",
			Summary:   "Withdraw a message that the agent does not have yet.",
			Responses: []Response{{Status: http.StatusNoContent, Doc: "The agent does not get it."}},
			Fails:     []int{404, 409}, Handle: s.withdrawThreadInput,
		}),
		reads(Route{
			Path: one + "/diff", OperationID: "diffThread",
			Summary:   "Show what the files of a thread differ in from the commit that it began at, committed or not.",
			Query:     []Param{patchBytes()},
			Responses: []Response{{Status: 200, Body: wire.ThreadDiff{}, Doc: "The patch, and counts."}},
			Fails:     []int{404, 409}, Handle: s.diffThread,
		}),
		acts(Route{
			Method: http.MethodPost, Path: one + "/merge", OperationID: "mergeThread", Action: "threads.update",
			Summary: "Merge what is new on the branch that a thread began at into its work branch.",
			Description: "Its agent must wait for a message, or be gone, and nothing may be uncommitted. When both sides changed the " +
				"same, the answer is 409 with the files in details.conflicts, and nothing changes.",
			Responses: []Response{{Status: 200, Body: core.WorkspaceUpdate{}, Doc: "What became of it."}},
			Fails:     []int{404, 409}, Handle: s.mergeThread,
		}),
		acts(Route{
			Method: http.MethodPost, Path: one + "/rebase", OperationID: "rebaseThread", Action: "threads.update",
			Summary:     "Put the commits of a thread behind what is new on the branch that it began at.",
			Description: "As merge, but the commits of the thread are made anew.",
			Responses:   []Response{{Status: 200, Body: core.WorkspaceUpdate{}, Doc: "What became of it."}},
			Fails:       []int{404, 409}, Handle: s.rebaseThread,
		}),
		reads(Route{
			Path: one + "/events", OperationID: "listThreadEvents",
			Summary: "Read the stored events of a thread, oldest first.",
			Query: []Param{
				{Name: "since", Type: ParamInteger, Default: "0", Doc: "Only events after this sequence."},
				{Name: "before", Type: ParamInteger, Default: "0", Doc: "The newest events before this sequence, or the newest of all with 0. Not together with since."},
				{Name: "type", Type: ParamList, Doc: "Types of events, comma-separated. Default: all but thread_output, " +
					"thread_status, thread_input and thread_tool_done."},
				{Name: "limit", Type: ParamInteger, Default: "100", Min: 1, Max: core.MaxPageLimit, Doc: "Events at most."},
			},
			Responses: []Response{{Status: 200, Body: threadEventList{}, Doc: "A page of events."}},
			Fails:     []int{404}, Handle: s.listThreadEvents,
		}),
		ofExecution,
		s.threadStreamRoute(),
	}
}

func (s *Server) listThreads(c *call) (answer, error) {
	id := c.query.text("executionId")
	if err := c.mayIn(id); err != nil {
		return answer{}, err
	}
	return s.threads(c, id)
}

func (s *Server) listExecutionThreads(c *call) (answer, error) {
	return s.threads(c, c.param("executionId"))
}

// threads lists those of an execution, or of all.
func (s *Server) threads(c *call, executionID string) (answer, error) {
	threads := s.threadRows(c, core.ThreadFilter{
		ExecutionID: executionID, Status: core.ThreadStatus(c.query.text("status")),
		Role: c.query.text("role"), AgentType: c.query.text("agentType"), CreatedBy: c.query.text("createdBy"),
	})
	return listed(c, threads.page, newThreadRow, func(rows []wire.Thread, info wire.PageInfo) any { return threadList{rows, info} })
}

// threadRows are the threads that a filter selects and the caller may read.
func (s *Server) threadRows(c *call, filter core.ThreadFilter) *rows[*core.Thread] {
	return listOf(c, func(t *core.Thread) string { return t.ID }, func(page core.Page) ([]*core.Thread, core.PageInfo, error) {
		filter.Page = page
		return s.opts.Threads.FindThreads(c.ctx, filter)
	})
}

func (s *Server) getThread(c *call) (answer, error) {
	return threadAnswer(s.opts.Threads.FindThread(c.ctx, c.param("threadId")))
}

// threadAnswer renders what a service method returned.
func threadAnswer(t *core.Thread, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return ok(newThreadBody(t)), nil
}

func (s *Server) stopThread(c *call) (answer, error) {
	how := core.ThreadStop{Force: c.query.boolean("force")}
	if c.query.given("timeout") {
		how.Grace = time.Duration(c.query.integer("timeout")) * time.Millisecond
	}
	if err := s.opts.Threads.StopThread(c.detached(), c.param("threadId"), how); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, nil
}

func (s *Server) completeThread(c *call, req wire.ThreadClose) (answer, error) {
	return threadAnswer(s.opts.Threads.CloseThread(c.detached(), c.param("threadId"), core.ThreadClose{
		State: core.CompletionState(req.State), Summary: req.Summary,
	}))
}
