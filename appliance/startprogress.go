package appliance

import (
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

// How often the log says how far a long start is, and how long the service manager waits for the next sign of it.
const (
	progressInterval = 5 * time.Second
	progressPatience = 2 * time.Minute
)

// startProgress reports how far the work on a store is that a start cannot do without, to the log and to the service manager,
// which would end a start that takes longer than the unit allows, again and again.
type startProgress struct {
	log      hclog.Logger
	clock    core.Clock
	reported time.Time
}

// report is called with how many records are done, and of how many; total is 0 where that is not known.
func (p *startProgress) report(what string, done, total int64) {
	status, args := fmt.Sprintf("%s: %d records", what, done), []any{"records", done}
	if total > 0 {
		status, args = fmt.Sprintf("%s: %d of %d records", what, done, total), append(args, "of", total)
	}
	now := p.clock.Now()
	if now.Sub(p.reported) < progressInterval && (total == 0 || done < total) {
		p.log.Debug(what, args...)
		return
	}
	p.reported = now
	p.log.Info(what, args...)
	notify("STATUS="+status, patience(progressPatience))
}
