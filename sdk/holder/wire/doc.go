// Package wire is the language between the process that holds an agent's terminal (sdk/holder/keeper) and those
// who talk to it: the runtime (sdk/holder) and the hook command of a CLI. It owns the bytes: frames, messages,
// version negotiation, the exit file. It does not own sockets nor what a message does. Only the standard library
// is used, because the holding process has to stay small.
//
// # Frames
//
// A connection carries frames in both directions: the length of the body as 4 bytes, the kind as one byte, the
// body. Integers are big endian; a string or a list of bytes is its length as 4 bytes and its bytes. A body is at
// most MaxBody bytes. Bytes after the fields that a version knows are ignored, so that fields can be added.
//
// # Handshake
//
// Who connects sends Hello: a magic, the lowest and the highest version it speaks, its role and the nonce of the
// agent's life. The holder answers Welcome with the highest version that both speak, or Refused and closes. From
// there on the role decides:
//
//	RoleControl  requests with an id, each answered by Done, Note, Unread or Refused; the holder tells Exited,
//	             HookCall and HookGone by itself. A new control connection ends the earlier one, which gets Refused
//	             with CodeSuperseded.
//	RoleOutput   names the control connection by the client number of its Welcome and an offset. The holder sends
//	             OutputStart with the offset that it really begins at, Data for ever, and End after the last byte
//	             of an ended command.
//	RoleHook     sends HookRequest, gets HookReply. Needs no nonce: every process of the agent may call, and no other.
//
// The holding process itself gets a Launch frame on its standard input and answers Started or Failed on its
// standard output. Where agents run in a place of their own, such as a pod, the same binary writes and reads files there
// (File, Part) and measures it (Usage).
package wire
