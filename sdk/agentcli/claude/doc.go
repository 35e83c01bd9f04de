// Package claude is the adapter of the claude CLI (Claude Code), made with version 2.1.197 and measured with 2.1.332.
//
// It owns how claude is started and what its hooks, titles and start-up screens mean. It does not own the
// terminal, the queue of messages or the events: a session of sdk/agentcli calls it. Runtime plugins put New()
// into agentcli.Options.
//
// # Where the state comes from
//
// Command hooks (SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, PermissionRequest, Elicitation, ElicitationResult,
// Stop, StopFailure, SubagentStop, SessionEnd) and the session's transcript. A turn ends on evidence: a Stop or
// StopFailure hook of its prompt, or what the transcript says (an interrupt, which fires no hook; an error; that the turn is over, should its hook not
// have come). The window title, a sign that turns while claude works (braille, or a circle) and ✳ while it waits, only says when to
// look: ✳ also stands over a dialog whose hook is late, and may be that of the turn before. After a while without
// evidence an input line that waits is taken for a stopped turn; one of which no hook told is TURN_UNKNOWN.
// A command of claude's own that a person runs, such as /compact, is a turn that only the title and the transcript tell of.
// While a dialog stands nothing is ready; one that no hook announces is read from the screen in the end.
//
// The transcript is read in parts as it grows, a few times a second while a turn runs. It gives what was said within
// the turn, and with its end what the turn used: of each request what claude wrote last, with no cost, which claude
// does not tell. An error of the model's provider is an entry of its own there, and never the turn's text; while claude
// repeats a request the turn runs.
//
// Stop hooks of the user's own run beside the driver's, take their time, and may keep claude at work: the Stop hook is answered at once,
// and ends the turn when the transcript has that all of them ended, and none has claude go on. Another hook of the turn is a sign that
// one has; the title that waits, and what comes of the next turn, are signs that claude stopped. The title is enough where the driver's
// was the only Stop hook the last time. The transcript also has the words of a hook that refuses a prompt: no other hook follows.
//
// A PermissionRequest hook is held open: the dialog stands on the screen meanwhile and takes keys, and the hook's
// answer resolves it as well. After "yes" by a key claude forgets the hook but does not end it, so the driver
// does; after "no" or Escape it ends the hook, and that is the only sign of it. AskUserQuestion is such a request,
// too, and its answers go back as updated input; the text of a refusal reaches the model.
//
// # Helpers
//
// Agents that claude starts (its tool Agent) would work in the background, behind the end of the turn. A variable keeps them in the
// foreground: the turn goes on until they are done. Their hooks bear the id of the turn, and an id of their own. A StopFailure of one
// ends no turn. Of a refusal by a key in the dialog of one no hook tells, and the turn goes on: its request is over with the helper, or
// when another dialog stands in place of its own. What they use is in files of their own below the session's, which are read at the
// end of the turn.
//
// # Forms
//
// What an MCP server asks is told by the hook Elicitation, which is let go: the form stands on the screen and takes keys. An answer
// that is not given by keys closes it with Escape, and is what the hook ElicitationResult makes of that, which claude waits for before
// it answers the server. What a person did with the form is passed on as it is.
//
// # Approval presets
//
//	readonly    --permission-mode dontAsk, and the tools that write are denied: what is not known to be harmless
//	            is refused without asking
//	standard    --permission-mode default: asks before it changes files or runs commands that do
//	permissive  --permission-mode acceptEdits: files in the work directory change without asking, commands ask
//	autonomous  --permission-mode bypassPermissions: nothing asks
//
// git works under standard, permissive and autonomous, in a worktree whose repository is elsewhere too: claude has no
// sandbox of its own. Under standard and permissive a command that commits asks.
//
// # Messages
//
// A message is pasted, in pieces: a longer paste is a quotation to newer versions, which give it to the model in marks. One that
// begins with ! gets a space in front, and one that begins with / a blank that is no white space (U+2800), or claude would take
// it as a command of its own; a space at the end closes the completion of file names and keeps a last backslash from continuing
// the line, and claude cuts it off again. Tabs arrive as four spaces. @name of a file that exists is attached by claude. Newer
// versions leave out characters that are not shown.
//
// What clears the line, and Enter, are typed as escape sequences (CSI u): a claude that is slow to read takes several
// control characters at once for text, and an Enter for a part of what is pasted. UserPromptSubmit tells what was
// taken: a prompt that is the message with something else is refused there, so that the model never sees it, and the
// message is typed again. A claude that is slow may take a message when it is typed again already: what comes of it a second time is
// refused as well, and so is a message whose caller was answered that it was not delivered.
//
// A prompt that claude gets while it works waits in its queue. Its hook comes at once, with the id of the turn that runs, and none comes
// when its own begins. So it is taken at the end of that turn, unless the transcript has that claude took it into the turn, behind a tool,
// or that a person took it back into the line.
package claude
