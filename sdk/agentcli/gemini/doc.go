// Package gemini is the adapter of the gemini CLI, made and measured with version 0.61.0.
//
// It owns how gemini is started and what its titles, hooks and start-up screens mean. It does not own the
// terminal, the queue of messages or the events: a session of sdk/agentcli calls it. Runtime plugins put New()
// into agentcli.Options.
//
// # Where the state comes from
//
// The window title is complete: ◇ waits, ✦ works, ✋ asks. Hooks add the message as it was taken, tools, what an
// approval is about, and the end of a turn a little before the title. The answer's text comes from the session's
// JSON lines, whose name the hooks tell: the AfterAgent hook itself doubles blanks and repeats the last piece of a
// streamed answer. A last line "Request cancelled." is an interrupt. Hooks cost a passing line "Executing Hook" on
// the screen. Where a room has no hooks the titles alone still do, without texts.
//
// The title says ◇ under the sign-in dialogs, too; so at the start, and only there, the screen has to show the
// input line as well.
//
// Prompts are answered by keys, once ✋ says that the dialog stands. A refusal is Escape, whose place is the same in
// every dialog; it cancels the turn, and its reason follows as a message.
//
// # Configuration
//
// Settings are merged into settings.json in the agent's home. A file of our own, given as the system's
// (GEMINI_CLI_SYSTEM_SETTINGS_PATH), would be ignored: gemini wants that one, and every directory above it, to be
// root's and writable by nobody else. GEMINI_API_KEY selects that way to sign in.
//
// # Approval presets
//
//	readonly    --approval-mode plan: only tools that read
//	standard    --approval-mode default: asks before it changes files or runs commands
//	permissive  --approval-mode auto_edit: files change without asking, commands ask
//	autonomous  --approval-mode yolo: nothing asks
//
// # Messages
//
// A message is pasted; Enter comes 150 ms later, within 80 ms it would be a line break. One blank at the end
// closes the completion of file names and keeps a last backslash from continuing the line. A message that begins
// with / gets an invisible word joiner (U+2060) in front, or gemini would take it as a command; a space does not
// help, since it is cut off first. @name of a file that exists is attached by gemini.
package gemini
