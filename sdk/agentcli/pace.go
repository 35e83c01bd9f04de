package agentcli

import "time"

// A viewer that keeps up but for a hiccup shall not lose output, and one that does not keep up shall not
// hold up the agent. So the reader of the output gives each viewer a little time when it is about to fall
// behind, from an allowance that refills slowly: whoever is slow for long has none, and skips to now.
const (
	paceMost   = 20 * time.Millisecond // allowance of a viewer
	paceRefill = 10                    // the allowance grows by one part in so many of the time that passes
	paceStep   = 4 * time.Millisecond  // most that is waited for between two pieces of output
)

// pace waits for viewers that are about to fall behind, within their allowances.
func (d *display) pace() {
	deadline := time.Time{}
	for {
		v := d.last()
		if v == nil {
			return
		}
		now := time.Now()
		if deadline.IsZero() {
			deadline = now.Add(paceStep)
		}
		wait := min(v.allowance(now), deadline.Sub(now))
		if wait <= 0 {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-d.moved:
		case <-timer.C:
		}
		timer.Stop()
		v.spend(time.Since(now))
	}
}

// last returns the viewer that is farthest behind, if it is in danger of losing output.
func (d *display) last() *viewer {
	d.ringMu.Lock()
	defer d.ringMu.Unlock()
	if len(d.views) == 0 {
		return nil
	}
	var last *viewer
	most := d.behind / 2
	for v := range d.views {
		if lag := d.ring.End() - min(v.next, d.ring.End()); lag > most && lag <= d.behind && !v.lost {
			last, most = v, lag
		}
	}
	return last
}

// allowance is how long the reader may still wait for the viewer.
func (v *viewer) allowance(now time.Time) time.Duration {
	v.d.ringMu.Lock()
	defer v.d.ringMu.Unlock()
	if !v.paced.IsZero() {
		v.grace = min(v.grace+now.Sub(v.paced)/paceRefill, paceMost)
	}
	v.paced = now
	return v.grace
}

func (v *viewer) spend(waited time.Duration) {
	v.d.ringMu.Lock()
	defer v.d.ringMu.Unlock()
	v.grace = max(0, v.grace-waited)
}
