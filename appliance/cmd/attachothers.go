package cmd

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/terminal"
)

// othersFor is how long who else is there stands on the screen before what it covers is drawn again.
const othersFor = 4 * time.Second

// others is who else is at a terminal, as the connection tells it and the screen says it.
type others struct {
	changed chan struct{} // holds one

	mu   sync.Mutex // guards text
	text string
}

func newOthers() *others { return &others{changed: make(chan struct{}, 1)} }

// tell takes in who else is there now. It does not block.
func (o *others) tell(total int, viewers []terminal.Viewer) {
	o.mu.Lock()
	o.text = othersText(total, viewers)
	o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

func (o *others) now() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text
}

// othersText says who else is there: those who may type first.
func othersText(total int, viewers []terminal.Viewer) string {
	if total == 0 {
		return "you are alone here"
	}
	var typing, looking []string
	for _, v := range viewers {
		if v.Typing {
			typing = append(typing, clean(v.Who)+" (may type)")
		} else {
			looking = append(looking, clean(v.Who)+" (looks)")
		}
	}
	text := "also here: " + strings.Join(append(typing, looking...), ", ")
	if more := total - len(viewers); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
