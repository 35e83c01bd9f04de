package cmd

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/wardroom/wardroom/sdk/client"
)

// progress shows how a batch goes on.
type progress interface {
	update(b *client.Batch)
	finish()
}

// lineEvery is how often plain progress writes a line at least while something moves.
const lineEvery = 5 * time.Second

// newProgress returns a bar on a terminal, and lines anywhere else.
func newProgress(w io.Writer, total int) progress {
	if !isTerminal(w) {
		return &lineProgress{w: w, total: total, last: -1}
	}
	return &barProgress{bar: progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(50*time.Millisecond),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(w) }),
	)}
}

type barProgress struct{ bar *progressbar.ProgressBar }

func (p *barProgress) update(b *client.Batch) {
	if b.Failed > 0 {
		p.bar.Describe(fmt.Sprintf("%d failed", b.Failed))
	}
	_ = p.bar.Set(b.Completed + b.Failed + b.Cancelled) // it fails beyond the total only
}

func (p *barProgress) finish() {
	if !p.bar.IsFinished() {
		_ = p.bar.Exit() // leaves the bar as it stands
	}
}

// lineProgress writes a line for each tenth of the work, and every few seconds.
type lineProgress struct {
	w     io.Writer
	total int
	last  int // items done at the last line; -1 before the first
	at    time.Time
}

func (p *lineProgress) update(b *client.Batch) {
	done := b.Completed + b.Failed + b.Cancelled
	now := time.Now()
	tenth := max(p.total/10, 1)
	if done == p.last || (p.last >= 0 && done/tenth == p.last/tenth && now.Sub(p.at) < lineEvery) {
		return
	}
	p.last, p.at = done, now
	failed := ""
	if b.Failed > 0 {
		failed = fmt.Sprintf(", %d failed", b.Failed)
	}
	fmt.Fprintf(p.w, "%s: %d of %d done%s\n", clean(b.BatchID), done, p.total, failed)
}

func (p *lineProgress) finish() {}
