package agents

import "time"

// bucket limits the rate of one session's frames. It belongs to the goroutine that reads.
type bucket struct {
	tokens float64
	last   time.Time // of the refill; zero before the first frame

	refusing time.Time // since when frames are refused again and again; zero: they are not
	refused  time.Time // the latest refusal
	told     time.Time // the latest error frame about it
}

// verdict is what becomes of a frame.
type verdict int

const (
	admitted    verdict = iota
	dropped             // over the limit
	droppedTell         // over the limit, and the agent is to be told (once a second)
	flooded             // over the limit for too long
)

// burstSeconds is how many seconds' worth of frames may come at once.
const burstSeconds = 2

// take counts one frame.
func (b *bucket) take(now time.Time, perSecond int, tolerance time.Duration) verdict {
	burst := float64(perSecond) * burstSeconds
	if b.last.IsZero() {
		b.tokens += burst
	} else if passed := now.Sub(b.last); passed > 0 && b.tokens < burst {
		b.tokens = min(burst, b.tokens+passed.Seconds()*float64(perSecond))
	}
	b.last = now
	if b.tokens >= 1 {
		b.tokens--
		return admitted
	}
	if b.refusing.IsZero() || now.Sub(b.refused) > time.Second {
		b.refusing = now
	}
	b.refused = now
	if now.Sub(b.refusing) >= tolerance {
		return flooded
	}
	if b.told.IsZero() || now.Sub(b.told) >= time.Second {
		b.told = now
		return droppedTell
	}
	return dropped
}

// credit admits n more frames, above the burst if need be: the reports an agent announced on a resume.
func (b *bucket) credit(n int) { b.tokens += float64(n) }
