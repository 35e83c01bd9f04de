package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// report is what a soak came to.
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

// figures are those that must not grow.
var figures = []struct {
	name, unit string
	of         func(m month) float64
}{
	{"disk", "MiB", func(m month) float64 { return m.Disk }},
	{"memory", "MiB", func(m month) float64 { return m.Memory }},
	{"start", "ms", func(m month) float64 { return m.Start }},
	{"list", "ms", func(m month) float64 { return m.List }},
}

func newReport(o options, y *year, took time.Duration) report {
	r := report{
		Days: o.days, Daily: o.daily, Executions: y.made, Deliveries: y.delivered.Load(), TookS: took.Round(time.Second).Seconds(),
		Months: y.months, Growth: map[string]float64{}, Grew: []string{},
	}
	for _, f := range figures {
		var values []float64
		for _, m := range y.months[1:] {
			values = append(values, f.of(m))
		}
		r.Growth[f.name] = growth(values)
		if r.Growth[f.name] > o.flat {
			r.Grew = append(r.Grew, f.name)
		}
	}
	return r
}

// growth returns by how many percent the line through the values, which least squares draw, rises from the first to the
// last.
func growth(values []float64) float64 {
	n := float64(len(values))
	var sumX, sumY, sumXY, sumXX float64
	for i, y := range values {
		x := float64(i)
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
	fmt.Fprintf(&b, "%5s %11s %9s %11s %9s %8s %7s\n", "MONTH", "EXECUTIONS", "DISK MIB", "MEMORY MIB", "START MS", "LIST MS", "TOOK S")
	for _, m := range r.Months {
		fmt.Fprintf(&b, "%5d %11d %9.1f %11.1f %9.0f %8.2f %7.0f\n", m.Month, m.Executions, m.Disk, m.Memory, m.Start, m.List, m.Took)
	}
	b.WriteString("\nfrom the second month to the last one:")
	for _, f := range figures {
		fmt.Fprintf(&b, "  %s %+.1f %%", f.name, r.Growth[f.name])
	}
	b.WriteString("\n")
	if len(r.Grew) > 0 {
		fmt.Fprintf(&b, "GREW: %s\n", strings.Join(r.Grew, ", "))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
