package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"flat", []float64{100, 100, 100}, 0},
		{"doubles", []float64{100, 150, 200}, 100},
		{"shrinks", []float64{200, 150, 100}, -50},
		{"one that is out of line", []float64{100, 100, 130, 100, 100}, 0},
		{"of one month", []float64{7}, 0},
		{"of nothing", []float64{0, 0}, 0},
	} {
		var months []month
		for _, v := range c.values {
			months = append(months, month{Disk: v})
		}
		if got := growth(months, func(m month) float64 { return m.Disk }); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// What rises after the first month is named; what the first month filled is not.
func TestReport(t *testing.T) {
	y := &year{box: &box{}, made: 4000}
	for i := range 4 {
		y.months = append(y.months, month{Month: i + 1, Executions: 900, Disk: 100 + float64(i*20), Memory: 50, Start: 300 + float64(i*100), StartCPU: 100, List: 2, ListCPU: 1})
	}
	y.months[0].Memory, y.months[0].Start = 10, 10
	r := newReport(options{days: 120, daily: 30, flat: 10}, y, 90*time.Second)
	if len(r.Grew) != 1 || r.Grew[0] != "disk" {
		t.Fatalf("grew: %v of %v", r.Grew, r.Growth) // the start by the wall alone: other work
	}
	for i := range y.months {
		y.months[i].StartCPU += float64(i * 30)
	}
	if r := newReport(options{days: 120, daily: 30, flat: 10}, y, 90*time.Second); len(r.Grew) != 2 || r.Grew[1] != "start" {
		t.Errorf("grew: %v of %v", r.Grew, r.Growth)
	}
	var out bytes.Buffer
	if err := r.print(&out, "table"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"120 days of 30 executions in 1m30s", "disk +33.3 %", "GREW: disk", "    4         900     160.0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := r.print(&out, "json"); err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || len(back.Months) != 4 || back.Growth["disk"] < 33 || back.Executions != 4000 {
		t.Errorf("%v, %s", err, out.String())
	}
}

func TestLoadIsTheSameAgain(t *testing.T) {
	if a, b := text(7, 1000), text(7, 1000); a != b || len(a) != 1000 || a == text(8, 1000) {
		t.Errorf("texts of %d and %d bytes", len(a), len(b))
	}
	sizes := map[int]int{}
	for n := range 200 {
		sizes[sizeOf(n)]++
	}
	if sizes[600<<10] != 1 || sizes[64<<10] != 5 || sizes[1<<10] != 194 {
		t.Errorf("sizes: %v", sizes)
	}
}
