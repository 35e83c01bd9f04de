package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

const (
	// monthDays is how many days a month has, and how long the store keeps what is over.
	monthDays = 30
	// jumps is in how many a day passes.
	jumps = 4
	// starts is how many are measured each month, and rounds how often so many reads are: what the server does beside them,
	// merges above all, counts as theirs, and the round with the least of it is the one that says something.
	starts = 5
	rounds = 5
	reads  = 300
	// settle bounds how long retention may take to come to an end after a day.
	settle = 5 * time.Minute
	// hourWait is how long a day waits for a run of retention before it lets another hour pass.
	hourWait = 10 * time.Second
)

// month is what was measured of one.
type month struct {
	Month      int     `json:"month"`
	Executions int     `json:"executions"` // that are listed at its end
	Disk       float64 `json:"diskMiB"`    // mean of its days
	Memory     float64 `json:"memoryMiB"`  // likewise
	Start      float64 `json:"startMs"`    // shortest of five
	List       float64 `json:"listMs"`     // median of the quickest round
	StartCPU   float64 `json:"startCpuMs"` // of the server until it was ready, least of five
	ListCPU    float64 `json:"listCpuMs"`  // of the server for one list, mean of the cheapest round
	Took       float64 `json:"tookS"`      // of the machine's own time
	Retention  float64 `json:"retentionS"` // of that, spent waiting for retention to come to its end

	days int
}

// run ages a box and reports.
func run(ctx context.Context, o options, out, progress io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return err
	}
	defer func() {
		if err == nil && !o.keep {
			err = os.RemoveAll(dir)
			return
		}
		fmt.Fprintln(progress, "store and log:", dir)
	}()
	began := time.Now()
	b, err := newBox(ctx, dir, o.binary)
	defer b.end()
	if err != nil {
		return err
	}
	if _, err := b.Client.CreatePattern(ctx, client.PatternInput{Definition: patternSource}); err != nil {
		return err
	}
	y := &year{box: b, options: o, progress: progress}
	if err := y.age(ctx); err != nil {
		return err
	}
	r := newReport(o, y, time.Since(began))
	if err := r.print(out, o.output); err != nil {
		return err
	}
	if len(r.Grew) > 0 {
		return errGrew
	}
	return nil
}

var errGrew = errors.New("something grows, see the table")

// year is one in the life of a box.
type year struct {
	*box
	options
	progress io.Writer
	made     int
	months   []month
}

// age lets the days pass, and measures.
func (y *year) age(ctx context.Context) error {
	began := time.Now()
	for day := range y.days {
		if day%monthDays == 0 && y.days-day >= monthDays {
			y.months = append(y.months, month{Month: day/monthDays + 1})
		}
		if err := y.day(ctx); err != nil {
			return fmt.Errorf("day %d: %w", day+1, err)
		}
		if day/monthDays == len(y.months)-1 {
			if err := y.weigh(ctx); err != nil {
				return err
			}
		}
		if day%monthDays == monthDays-1 {
			y.months[len(y.months)-1].Took, began = time.Since(began).Seconds(), time.Now()
			if err := y.measure(ctx); err != nil {
				return fmt.Errorf("after day %d: %w", day+1, err)
			}
		}
	}
	return nil
}

// day makes the executions of a day, lets it pass, and waits for retention.
func (y *year) day(ctx context.Context) error {
	for range jumps {
		if err := y.run(ctx, y.made, y.made+y.daily/jumps); err != nil {
			return err
		}
		y.made += y.daily / jumps
		if err := y.clock.Pass(ctx, 24*time.Hour/jumps, y.Process); err != nil {
			return err
		}
	}
	// A day more than is kept is there before a run of retention, and the batches have ten executions each.
	most := (monthDays + 1) * (y.daily + 10*jumps)
	before, looked := math.MaxInt, time.Now()
	waited := time.Now()
	defer func() { y.months[len(y.months)-1].Retention += time.Since(waited).Seconds() }()
	return testbed.Until(ctx, settle, fmt.Sprintf("retention leaves no more than %d executions", most), func(ctx context.Context) (bool, error) {
		n, err := y.total(ctx)
		if err != nil || n <= most {
			return err == nil, err
		}
		if n < before {
			before, looked = n, time.Now()
		}
		if time.Since(looked) < hourWait {
			return false, nil
		}
		// The run that a jump made due was still giving space back at the next jumps: what they made due is for the run after.
		looked = time.Now()
		return false, y.clock.Pass(ctx, time.Hour, y.Process)
	})
}

func (y *year) total(ctx context.Context) (int, error) {
	list, err := y.Client.ListExecutions(ctx, client.ExecutionFilter{Page: client.Page{Limit: 1}})
	if err != nil {
		return 0, err
	}
	return list.Total, nil
}

// weigh adds a day to the means of its month.
func (y *year) weigh(context.Context) error {
	m := &y.months[len(y.months)-1]
	disk, err := y.disk()
	if err != nil {
		return err
	}
	memory := testbed.Memory(y.PID(), "RssAnon")
	if memory == 0 {
		return errors.New("/proc says nothing of the memory of the server")
	}
	m.days++
	m.Disk += (mib(disk) - m.Disk) / float64(m.days)
	m.Memory += (mib(memory) - m.Memory) / float64(m.days)
	return nil
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// measure ends a month.
func (y *year) measure(ctx context.Context) (err error) {
	m := &y.months[len(y.months)-1]
	for i := range rounds {
		var took []time.Duration
		cpu := testbed.CPUTime(y.PID())
		for range reads {
			began := time.Now()
			if _, err := y.Client.ListExecutions(ctx, client.ExecutionFilter{Page: client.Page{Limit: 50}}); err != nil {
				return err
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		median, each := ms(testbed.Quantile(took, .5)), ms(testbed.CPUTime(y.PID())-cpu)/reads
		if i == 0 {
			m.List, m.ListCPU = median, each
		}
		m.List, m.ListCPU = min(m.List, median), min(m.ListCPU, each)
	}
	var started, starting []time.Duration
	for range starts {
		if err := y.Restart(ctx); err != nil {
			return err
		}
		started, starting = append(started, y.Took), append(starting, testbed.CPUTime(y.PID()))
	}
	m.Start, m.StartCPU = ms(slices.Min(started)), ms(slices.Min(starting))
	if m.Executions, err = y.total(ctx); err != nil {
		return err
	}
	fmt.Fprintf(y.progress, "month %2d: %6d executions, disk %.0f MiB, memory %.0f MiB, start %.0f ms (CPU %.0f), list %.1f ms (CPU %.1f); took %.0f s, %.0f of them for retention\n",
		m.Month, m.Executions, m.Disk, m.Memory, m.Start, m.StartCPU, m.List, m.ListCPU, m.Took, m.Retention)
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
