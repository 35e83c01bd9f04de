// Package stream makes an agentcli.Process of a byte stream: a pty of this machine, an attached container, a
// session of ssh. The launcher gives the stream and four functions; what is written is kept in a ring with
// offsets, read by one reader at a time, and typing is bounded by its caller's time.
//
// It owns the bytes and the goroutines that move them. It does not own the command: the stream, and so what is
// kept here, ends with the process of the runtime, or before. Launchers whose agents have to outlive that put a
// holder between (sdk/holder). Authors of launchers call it.
package stream
