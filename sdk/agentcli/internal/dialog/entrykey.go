package dialog

import (
	"strconv"
	"sync/atomic"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// maxKey is the last entry that one key takes.
const maxKey = 9

// EntryKey returns the key of an entry of the dialog that stands, whose number entry finds on the screen once it is to be pressed, or
// another key where that is 0 or above 9. It is one key, whatever comes behind that dialog, and one more where the steps are typed again. With once
// that is the other key in any case: a dialog that looks as before may be gone, and the number be one of the next, which is not drawn yet.
func EntryKey(entry func(rows []string) int, otherwise string, once bool) []agentcli.Step {
	pressed, passes := &atomic.Bool{}, &atomic.Int32{}
	steps := make([]agentcli.Step, 0, maxKey+1)
	for n := range maxKey + 1 {
		key := otherwise
		if n > 0 {
			key = strconv.Itoa(n)
		}
		steps = append(steps, agentcli.Step{Write: []byte(key), If: func(rows []string) bool {
			if n == 0 {
				pressed.Store(false)
				passes.Add(1)
			}
			of := 0
			if !once || passes.Load() == 1 {
				of = entry(rows)
			}
			if of > maxKey {
				of = 0
			}
			return of == n && pressed.CompareAndSwap(false, true)
		}})
	}
	return steps
}
