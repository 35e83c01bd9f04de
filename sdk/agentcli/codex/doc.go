// Package codex is the adapter of the codex CLI, made and measured with version 0.171.0.
//
// It owns how codex is started and what its signals, hooks and start-up screens mean. It does not own the
// terminal, the queue of messages or the events: a session of sdk/agentcli calls it. Runtime plugins put New()
// into agentcli.Options.
//
// # Where the state comes from
//
// codex tells its state by OSC 7501 within milliseconds: idle, working, blocked with its kind, done, error. At the
// start it says idle, working, idle within 50 ms and loses what is typed meanwhile, so idle counts once it has
// held, and being busy is a turn once a hook says so or it has held. Hooks add what that lacks: the message as it
// was taken, tools, the session, and the id of the turn. A turn ends by done and not by the Stop hook just before it:
// until then a new message would steer the running turn.
//
// How a turn ended stands in codex's transcript, the rollout of the session, which is followed while the turn runs:
// what the agent says, the tokens that each request used, and its end with the answer, the error of the model or that
// it was aborted. Entries carry the id of their turn, so no turn is taken for another one. Where the transcript says
// nothing the Stop hook does; a turn of which neither tells is TURN_UNKNOWN, and never an empty answer.
//
// Agents that codex's own one starts call the same hooks, with agent_id, and have transcripts and turns of their own. Their
// tools and what they ask are of the turn that runs. What they used by its end is read from their transcripts, which the hooks name,
// and counted in it; what they use later is the next turn's. What they ask between two turns is reported as a dialog that is in the way
// of a turn, and none. Nothing else of them is looked at.
//
// While codex repeats a request that failed, the turn is busy. It does that for some 25 seconds, but for ever where the
// provider cannot be reached at all: after two minutes of that the driver presses Escape, and the turn is
// MODEL_UNAVAILABLE.
//
// The PermissionRequest hook runs before the dialog and is answered at once, only to learn what is asked; the
// prompt is reported when codex says blocked. The dialog is drawn about a second after the last key that
// somebody pressed, and keys that come earlier land in the composer: an answer waits for the title that says the
// dialog stands, and is pressed again if nothing follows. A refusal ends codex's turn. Without a reason that is the
// end of the caller's turn as well, which is interrupted and refused; with one the driver types the reason as a message
// and goes on: the turn that codex makes of it is the rest of the caller's, and its answer the answer. The reason of what a helper was
// refused is typed at the end of codex's turn, which goes on meanwhile; between two turns there is none to go on, and no reason is taken.
//
// Several helpers may ask at once. Codex reports once that it is blocked, and draws one dialog, which need not be that of the hook that
// came last: where hooks announced several, the prompt waits for the dialog, and is of the one whose command that shows. The dialog of the
// next one is drawn where that of the last one was, and nothing reports it: what takes the place of a reported approval is a prompt of its
// own, and the key of an answer goes into the dialog that it is for, or nowhere. A dialog may also be read as a terminal of another size
// cuts it off: as long as nothing else was asked, what shows the command is the same.
//
// Escape would take those that wait out of the terminal, and their helpers would wait for ever: a refusal is the number of the entry for
// which Escape stands, and so is an interrupt as long as approvals stand. Either waits for the dialog: codex may stand still for good
// after an Escape that comes as it draws one.
//
// An approval may be given for longer where its dialog has an entry for that, which is known once it is drawn: elsewhere it is given for
// this time.
//
// No hook tells of what an MCP server asks its user, nor of the permissions that a model asks for: codex says that it is blocked, and
// the prompt is reported with what the screen shows once the dialog stands. A form has one prompt for each field. Escape closes what
// comes from an MCP server, its approvals too, and codex goes on: an interrupt presses it again for as long as the turn goes on, and
// a refusal with a reason once more, because the turn would run on without it.
//
// What stands on the screen in place of the composer, and stays, is a dialog of which nothing else tells: a choice of
// models, a warning, the transcript. It is reported as blocked, with its entries, outside of turns as well. A message that comes before
// that does not answer it: it is typed when the dialog is gone.
//
// # Configuration
//
// Everything is given on the command line, so that $CODEX_HOME/config.toml stays the operator's. Hooks are our
// own, and trusted by --dangerously-bypass-hook-trust, which is about asking for that only. The background daemon
// is off: it would copy itself into the home and outlive the agent. OPENAI_API_KEY makes a model provider of its
// own, of the Responses API, at OPENAI_BASE_URL or the public address; OPENAI_MODEL names the model.
//
// # Approval presets
//
//	readonly    sandbox read-only, approvals never: what writes fails without asking
//	standard    sandbox, approvals on-request: asks to leave the sandbox
//	permissive  sandbox with the network, approvals never: the sandbox is the limit
//	autonomous  no sandbox, approvals never
//
// The sandbox is a permission profile in place of codex's workspace-write, which shuts git's own files out and lets the
// host's /tmp be written: what git needs to commit is writable, and temporary files are those of the room. See sandbox.
//
// # Messages
//
// A message is pasted, with a space in front of / and ! that keeps it from being a command, and one at the end
// that closes the completion of file names; codex cuts both off. What may be the name of a picture is pasted in two parts, or codex would
// attach the file in its place. Where a dialog comes in front of the composer meanwhile the rest is not typed, and the message is typed
// anew when it is gone. The hook of a prompt shows whether it is the message: one
// that is the message with something else, which somebody left in the line, is refused there, so that the model never sees
// it, and the message is typed once more. One whose caller was answered that it was not delivered, and which comes late, is refused as
// well. A refusal within a turn ends the turn: what was typed a second time of its own message stays in it. While a message is on its way
// and its hook did not come, working is no proof that it was taken: for five seconds that may be the turn of another one.
package codex
