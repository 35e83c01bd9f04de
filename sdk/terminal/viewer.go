package terminal

// maxViewers bounds how many viewers a message names.
const maxViewers = 20

// Viewer is somebody at a terminal.
type Viewer struct {
	Who    string `json:"who"`
	Typing bool   `json:"typing,omitempty"` // may type; else only looks
}
