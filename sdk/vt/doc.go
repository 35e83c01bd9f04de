// Package vt is a terminal without a window: it turns the bytes that a program writes to its terminal into a
// screen with scrollback, tells what the program said about itself in OSC strings, answers the questions that
// exactly one party may answer, and gives back bytes that bring any xterm to the same screen.
//
//	Screen       the emulator: Write, Resize, Repaint, Text, Lines, Snapshot and Restore
//	Ring         the last bytes of a stream by offset, for a viewer that returns
//	EncodeKeys   key names to the bytes a terminal sends
//	Paste        text as a bracketed paste that cannot break out
//	InputFilter  what a viewer types, without what its terminal says by itself
//
// It knows neither agents nor processes, starts no goroutine, and nothing in it is safe for concurrent use
// unless it says so: the owner of a session locks. The callers are the sessions of sdk/agentcli and whatever
// draws a terminal again, such as a runtime after a restart.
package vt
