// Package claude is the adapter of the claude CLI (Claude Code), made and measured with version 2.1.197.
//
// It owns how claude is started and what its hooks, titles and start-up screens mean. It does not own the
// terminal, the queue of messages or the events: a session of sdk/agentcli calls it. Runtime plugins put New()
// into agentcli.Options.
//
// # Where the state comes from
//
// Command hooks (SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, PermissionRequest, Stop, StopFailure,
// SessionEnd) tell everything but an interrupt, which fires no hook: the window title does, a braille character
// while claude works and ✳ while it waits. claude runs the Stop hook to its end before it shows ✳, so ✳ in a
// turn without a Stop before it, and without a tool that may be about to ask, is an interrupt. (StopFailure, when
// the model's provider failed, may come a little after the title.)
//
// A PermissionRequest hook is held open: the dialog stands on the screen meanwhile and takes keys, and the hook's
// answer resolves it as well. After "yes" by a key claude forgets the hook but does not end it, so the driver
// does; after "no" or Escape it ends the hook, and that is the only sign of it. AskUserQuestion is such a request,
// too, and its answers go back as updated input; the text of a refusal reaches the model.
//
// # Approval presets
//
//	readonly    --permission-mode dontAsk, and the tools that write are denied: what is not known to be harmless
//	            is refused without asking
//	standard    --permission-mode default: asks before it changes files or runs commands that do
//	permissive  --permission-mode acceptEdits: files in the work directory change without asking, commands ask
//	autonomous  --permission-mode bypassPermissions: nothing asks
//
// # Messages
//
// A message is pasted. One that begins with / or ! gets a space in front, or claude would take it as a command of
// its own; one at the end closes the completion of file names and keeps a last backslash from continuing the
// line, and claude cuts it off again. Tabs arrive as four spaces. @name of a file that exists is attached by claude.
package claude
