package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// report is the result of a soak.
type report struct {
	Days       int                `json:"days"`
	Daily      int                `json:"daily"`
	Executions int                `json:"executions"` // made, those of batches not counted
	Deliveries int64              `json:"deliveries"` // of webhooks
	TookS      float64            `json:"tookSeconds"`
	Months     []month            `json:"months"`
	Growth     map[string]float64 `json:"growthPercent"` // from the second month to the last one
	Grew       []string           `json:"grew"`          // figures whose growth is above the limit
}

// perSecond is the rate of the box whose year it is.
const perSecond = 100

// figures are those that must not grow. A time that grew by the clock on the wall only, and not in what the server spent of
// the processors, says something of the machine's other work.
var figures = []struct {
	name string
	of   func(m month) float64
	cpu  func(m month) float64 // of a time; nil for others
}{
	{"disk", func(m month) float64 { return m.Disk }, nil},
	{"memory", func(m month) float64 { return m.Memory }, nil},
	{"start", func(m month) float64 { return m.Start }, func(m month) float64 { return m.StartCPU }},
	{"list", func(m month) float64 { return m.List }, func(m month) float64 { return m.ListCPU }},
}

func newReport(o options, y *year, took time.Duration) report {
	r := report{
		Days: o.days, Daily: o.daily, Executions: y.made, Deliveries: y.delivered.Load(), TookS: took.Round(time.Second).Seconds(),
		Months: y.months, Growth: map[string]float64{}, Grew: []string{},
	}
	for _, f := range figures {
		r.Growth[f.name] = growth(y.months[1:], f.of)
		grew := r.Growth[f.name] > o.flat
		if f.cpu != nil {
			r.Growth[f.name+" CPU"] = growth(y.months[1:], f.cpu)
			grew = grew && r.Growth[f.name+" CPU"] > o.flat
		}
		if grew {
			r.Grew = append(r.Grew, f.name)
		}
	}
	return r
}

// growth returns by how many percent the line through a figure of some months, which least squares draw, rises from the
// first to the last.
func growth(months []month, of func(m month) float64) float64 {
	n := float64(len(months))
	var sumX, sumY, sumXY, sumXX float64
	for i, m := range months {
		x, y := float64(i), of(m)
		sumX, sumY, sumXY, sumXX = sumX+x, sumY+y, sumXY+x*y, sumXX+x*x
	}
	divisor := n*sumXX - sumX*sumX
	if divisor == 0 {
		return 0
	}
	slope := (n*sumXY - sumX*sumY) / divisor
	first := (sumY - slope*sumX) / n
	if first <= 0 {
		return 0
	}
	return 100 * slope * (n - 1) / first
}

func (r report) print(out io.Writer, format string) error {
	if format == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d days of %d executions in %s; %d deliveries of webhooks\n", r.Days, r.Daily, time.Duration(r.TookS*float64(time.Second)), r.Deliveries)
	fmt.Fprintf(&b, "a box at %d executions/s, thinned: one for %d\n\n", perSecond, perSecond*24*60*60/r.Daily)
	fmt.Fprintf(&b, "%5s %11s %9s %11s %9s %10s %8s %9s %7s\n",
		"MONTH", "EXECUTIONS", "DISK MIB", "MEMORY MIB", "START MS", "OF CPU MS", "LIST MS", "OF CPU MS", "TOOK S")
	for _, m := range r.Months {
		fmt.Fprintf(&b, "%5d %11d %9.1f %11.1f %9.0f %10.0f %8.2f %9.2f %7.0f\n",
			m.Month, m.Executions, m.Disk, m.Memory, m.Start, m.StartCPU, m.List, m.ListCPU, m.Took)
	}
	b.WriteString("\nfrom the second month to the last one:")
	for _, f := range figures {
		fmt.Fprintf(&b, "  %s %+.1f %%", f.name, r.Growth[f.name])
		if f.cpu != nil {
			fmt.Fprintf(&b, " (CPU %+.1f %%)", r.Growth[f.name+" CPU"])
		}
	}
	b.WriteString("\n")
	if len(r.Grew) > 0 {
		fmt.Fprintf(&b, "GREW: %s\n", strings.Join(r.Grew, ", "))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
