// Package gemini is the adapter of the gemini CLI, made and measured with version 0.61.0.
//
// It owns how gemini is started and what its titles, hooks and start-up screens mean. It does not own the
// terminal, the queue of messages or the events: a session of sdk/agentcli calls it. Runtime plugins put New()
// into agentcli.Options.
//
// # Where the state comes from
//
// The window title is complete: ◇ waits, ✦ works, ✋ asks. Hooks add the message as it was taken, tools, and what an
// approval is about. How a turn ended, what was said in it and what it used come from the session's JSON lines, whose
// name the hooks tell. They are read as they grow, from where they ended when the turn began: the hook of the message is
// answered when that is known. Entries without a model are the conversation written again, which gemini does when an
// approval is refused. A line "Request cancelled." is an interrupt or a refusal, and so is a tool that was cancelled, an error is the
// failure of the turn, a line about a response that was truncated or stopped makes the answer behind it the failure of the turn, if that
// comes at once or stood on the screen with it, and a turn which neither hooks nor the transcript explain is TURN_UNKNOWN. Hooks cost a
// passing line "Executing Hook" on the screen. Where a room has no hooks the titles alone still do, without texts.
//
// The title says ◇ under dialogs, too, and before the answer is drawn: gemini is ready when the screen shows its
// composer, and no line above it says that something can be cancelled. What stays where the composer would be is a
// dialog: a login where it asks for one, else a question with the choices that can be read.
//
// Approvals and questions are answered by keys, once ✋ says that the dialog stands. A refusal is Escape, whose place is
// the same in every dialog; it cancels the turn. Its reason follows as a message, and the turn goes on with that. What allows a tool for
// longer is the second entry that allows it, where there is one.
//
// A model may call several tools at once. Their dialogs stand one after the other, in an order of their own and without a title or a
// hook in between: which of them stands is read from the screen ("1 of 2" and the tool's input), each is a prompt of its own, and the
// keys of an answer go into the dialog that it is for, or nowhere. Where long words leave no room for "1 of 2" the tool's input alone
// says it. A dialog that shows a part of a command only is about a tool that has that part, and if that is not one alone the prompt has
// the words of the dialog.
//
// gemini itself asks a model for words that has none for the result of a tool: the prompt of that is within the turn.
//
// # Sessions
//
// The id that resumes a session is in the first line of its transcript; hooks tell another one when gemini fell back to
// another model. There is nothing to resume before the first message, so the id is reported with the first turn. A start
// that cannot resume is repeated with a new session.
//
// # Configuration
//
// Settings are merged into settings.json in the agent's home. A file of our own, given as the system's
// (GEMINI_CLI_SYSTEM_SETTINGS_PATH), would be ignored: gemini wants that one, and every directory above it, to be
// root's and writable by root alone. GEMINI_API_KEY selects that way to sign in. The work directory is trusted, or gemini would ask
// for that first.
//
// # Approval presets
//
//	readonly    --approval-mode plan: only tools that read
//	standard    --approval-mode default: asks before it changes files or runs commands
//	permissive  --approval-mode auto_edit: files change without asking, commands ask
//	autonomous  --approval-mode yolo: nothing asks
//
// gemini runs commands without a sandbox, so git commits in a worktree wherever commands may run: after an approval under
// standard and permissive, at once under autonomous, never under readonly.
//
// # Messages
//
// A message is pasted; Enter comes 150 ms later, within 80 ms it would be a line break. One blank at the end
// closes the completion of file names and keeps a last backslash from continuing the line. A message that begins
// with / gets an invisible word joiner (U+2060) in front, or gemini would take it as a command; a space does not
// help, since it is cut off first, as are all white space and most characters that show nothing. @name of a file that exists is attached by gemini. BeforeAgent has what was taken: a
// prompt that is the message with something else, which somebody left in the line, is refused there, so that the model
// never sees it, and the message is typed once more. What was typed a second time of a message that was taken is refused as well, and so is
// a message whose caller was answered that it was not delivered.
//
// A prompt that gemini gets while it works waits in its queue. What waits there becomes one prompt: it is taken for the message in it.
package gemini
