package journal

import "github.com/wardroom/wardroom/sdk/runtime"

// Look is what Next does at each turn of its wait.
func (r *Reader) Look() (*runtime.Event, <-chan struct{}, error) { return r.look() }
