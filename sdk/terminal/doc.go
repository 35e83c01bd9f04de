// Package terminal carries the terminal of an agent over a WebSocket: Handle and Serve join a runtime.Terminal
// to a connection, Dial makes a runtime.Terminal of one.
//
// It owns the two wire protocols below, keep-alive, and the bounds on slow and silent viewers. It does not own
// the screen, scrollback or resize policy (sdk/agentcli), nor who may connect (its callers). sdk/runtime/server,
// sdk/runtime/client, the appliance's terminal proxy and its attach command call it.
//
// # Query
//
// offset=N goes on at a byte offset that the viewer saw, tail=N asks for scrollback lines before the first
// screen, cols=N and rows=N tell the size the viewer would like, readonly=true gives up typing.
//
// # Plain protocol
//
// Without a subprotocol, or with wardroom.terminal.plain, the server sends raw output in text messages: first
// the recent screen, then what follows. A message is valid UTF-8 (a byte that is not becomes U+FFFD) and never
// splits a character. What the client sends is keyboard data, in text or binary messages; only a text message
// that is, as a whole, {"type":"resize","cols":N,"rows":N} is a wish for a size instead. A size outside of
// 1..1000 is ignored.
//
// # Protocol wardroom.terminal.v1
//
// Binary messages of the server are output, byte for byte; text messages are JSON objects about it:
//
//	attached  the agent is there; the first message of all
//	output    {offset, lost?, cols?, rows?} the next binary message begins at this offset
//	repaint   {offset, lost?, cols?, rows?} the next binary message redraws the whole screen, and stands for
//	          everything up to this offset, where the binary message after it begins
//	resized   {offset, lost?, cols, rows} the terminal has another size
//	exit      {offset, code, reason?} the agent ended; the last message
//	error     {error} a runtime.Error; unless the connection is closed next, it is about something that the
//	          client sent, and the terminal goes on
//	viewers   {total?, viewers?} who else is there now, up to 20 as {who, typing?}; without total no one is
//
// A client that offers wardroom.terminal.ack beside the protocol acknowledges what it took, and attached then has
// window: of bytes in binary messages no more than that are sent beyond those acknowledged, so that what is under way to
// a slow viewer is bounded whatever lies between. It sends {"type":"ack","bytes":N}, N being the bytes of all binary
// messages of this connection that it took, after each 128 KiB at the latest. One message that does not fit into the
// window by itself, such as a repaint with much scrollback, is sent once at most a quarter of the window is open. What the
// terminal writes while the window is full is dropped for this viewer as for any slow one.
//
// Each binary message begins where the one before it ended, unless output or repaint stands between them. So a
// client knows its offset exactly, and can come back with it. lost counts bytes before the message that this
// viewer cannot have any more. Binary messages of the client are keyboard data; its text messages are
// {"type":"resize","cols":N,"rows":N} and ack. Unknown message types are to be ignored by clients.
//
// # Closing
//
// 1000 when the agent has ended, with a reason that begins with "agent stopped"; 1001 when the server
// ends it, because it goes down or the viewer lost the right to it: who connects again learns which; 4000 + the HTTP
// status of a runtime.Error otherwise: 4404 for an unknown agent, 4503 for a runtime that is away. A viewer that does not answer pings, or does not read for 30 seconds, is cut.
package terminal
