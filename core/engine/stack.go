package engine

// runStack is about what a run takes of its stack, in bytes: the encoder and the store are deep.
const runStack = 6 << 10

// growStack gives a goroutine the stack that a run needs while there is little on it. It would grow step by step, and be copied
// in its depth each time, which took a twentieth of what a short execution costs.
func growStack() {
	var room [runStack]byte
	touch(room[:])
}

//go:noinline
func touch([]byte) {}
