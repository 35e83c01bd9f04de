package engine

// turnStack is about what a turn of a run takes of its stack when something is stored, in bytes: the encoder is deep.
const turnStack = 3 << 10

// growStack gives the calling goroutine the stack of such a turn while there is little on it. It would grow step by step
// and copy all of its depth each time, which was a twentieth of what a short execution costs. A run does not call it before
// it has to: while it waits it needs little, and thousands may wait.
//
//go:noinline
func growStack() {
	var room [turnStack]byte
	touch(room[:])
}

//go:noinline
func touch([]byte) {}
