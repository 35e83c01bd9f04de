package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// part is one measurement; it adds rows to the report.
type part struct {
	name string
	run  func(b *bench, ctx context.Context) error
}

func parts() []part {
	return []part{
		{"baseline", (*bench).baselines},
		{"sync", (*bench).syncExecute},
		{"async", (*bench).asyncStart},
		{"fair", (*bench).fairShares},
		{"access", (*bench).access},
		{"protect", (*bench).protect},
		{"read", (*bench).readPattern},
		{"stream", (*bench).streamFanOut},
		{"idle", (*bench).idleAgents},
		{"rows", (*bench).manyRows},
		{"terminal", (*bench).terminals},
		{"echo", (*bench).echo},
		{"signals", (*bench).signals},
		{"messages", (*bench).messages},
		{"sessions", (*bench).sessions},
		{"docker", (*bench).containers},
		{"workflow", (*bench).workflows},
		{"prepare", (*bench).threadPrepare},
		{"memory", (*bench).threadMemory},
		{"viewers", (*bench).threadViewers},
		{"append", (*bench).threadAppend},
		{"mirror", (*bench).threadMirror},
		{"webhooks", (*bench).webhooks},
		{"tracing", (*bench).tracing},
		{"backup", (*bench).backups},
	}
}

func partNames() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// bench is one run of the benchmark.
type bench struct {
	binary string
	quick  bool
	dir    string // for data, removed at the end
	rows   []row
	text   *flood // nil until it was needed
	// Baselines of this run; zero until measured.

	commitPerSecond float64 // synced one-key transactions of a bare store, one writer
}

// row is one figure of the report.
type row struct {
	Part    string  `json:"part"`
	Measure string  `json:"measure"`
	Value   string  `json:"value"`
	Target  string  `json:"target,omitempty"`
	Met     *bool   `json:"met,omitempty"`
	Ratio   string  `json:"ratio,omitempty"` // against the baseline that it names
	Number  float64 `json:"number"`
}

func run(ctx context.Context, binary, only string, quick, asJSON bool) error {
	path, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w; run `make build` first", err)
	}
	dir, err := os.MkdirTemp("", "wardroom-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{binary: path, quick: quick, dir: dir}
	var wanted []string
	if only != "" {
		wanted = strings.Split(only, ",")
		for _, name := range wanted {
			if !slices.Contains(partNames(), name) {
				return fmt.Errorf("unknown part %q; the parts are %s", name, strings.Join(partNames(), ", "))
			}
		}
	}
	var failed []error
	for _, p := range parts() {
		if wanted != nil && !slices.Contains(wanted, p.name) {
			continue
		}
		started := time.Now()
		fmt.Fprintf(os.Stderr, "%-10s ...", p.name)
		err := p.run(b, ctx)
		fmt.Fprintf(os.Stderr, "\r%-10s %s\n", p.name, time.Since(started).Round(100*time.Millisecond))
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
		}
		if ctx.Err() != nil { // interrupted: the parts before are measured, and are printed
			break
		}
	}
	if err := b.print(asJSON); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// add reports a figure. target 0 means none; atMost tells on which side of the target good is.
func (b *bench) add(part, measure string, number float64, format string, target float64, atMost bool, ratio string) {
	r := row{Part: part, Measure: measure, Value: fmt.Sprintf(format, number), Number: number, Ratio: ratio}
	if target != 0 {
		sign, met := ">= ", number >= target
		if atMost {
			sign, met = "<= ", number <= target
		}
		r.Target, r.Met = sign+fmt.Sprintf(format, target), &met
	}
	b.rows = append(b.rows, r)
}

func (b *bench) print(asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"machine": machine(), "quick": b.quick, "rows": b.rows})
	}
	fmt.Printf("\n%s\n\n", machine())
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PART\tMEASURE\tVALUE\tTARGET\tMET\tAGAINST THE BASELINE")
	for _, r := range b.rows {
		met := ""
		if r.Met != nil {
			met = map[bool]string{true: "yes", false: "NO"}[*r.Met]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Part, r.Measure, r.Value, r.Target, met, r.Ratio)
	}
	return w.Flush()
}
