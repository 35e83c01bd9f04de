package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the appliance knows every zone, whatever the machine has

	"github.com/robfig/cron/v3"

	"github.com/wardroom/wardroom/core"
)

// Bounds of expressions.
const (
	maxExpression = 256 // bytes
	minEvery      = time.Minute
	maxEvery      = 366 * 24 * time.Hour
	// horizon is how far ahead a tick is looked for: over the leap year that 2100 is not.
	horizon = 9 * 366 // days
)

// lastTick is the last second that JSON has: no tick is after it.
var lastTick = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// starBit marks a field that does not restrict anything, in the bits of package cron.
const starBit = 1 << 63

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// shorthands are expressions with a name.
var shorthands = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// plan says when ticks are. It is immutable.
type plan struct {
	bits *cron.SpecSchedule
	// elapsed has ticks follow the time that passes: those that do not exist on the day of a change of the clock are left
	// out, those that come twice are ticks twice. Else each is one tick a day. It holds where minute or hour is a
	// wildcard, as in cron(8).
	elapsed bool
	every   time.Duration // of @every; 0: bits count
	anchor  time.Time     // that every counts from
	zone    *time.Location
}

// parse reads an expression and the name of a time zone. anchor is what @every counts from.
func parse(expression, zone string, anchor time.Time) (*plan, []core.Problem) {
	var problems []core.Problem
	wrong := func(path, format string, args ...any) {
		problems = append(problems, core.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
	}
	p := &plan{anchor: anchor.Truncate(time.Second).UTC()}
	var err error
	if p.zone, err = time.LoadLocation(zone); err != nil || zone == "Local" {
		wrong("timeZone", "must be a name of the IANA database such as UTC or Europe/Berlin")
	}
	text := strings.TrimSpace(expression)
	if short, ok := shorthands[strings.ToLower(text)]; ok {
		text = short
	}
	parts := strings.Fields(text)
	switch {
	case text == "":
		wrong("cron", "is missing: five fields, such as 0 3 * * MON-FRI")
	case len(text) > maxExpression:
		wrong("cron", "must be at most %d bytes", maxExpression)
	case strings.Contains(parts[0], "TZ="):
		wrong("cron", "must not name a time zone; timeZone does")
	case parts[0] == "@every":
		d, err := time.ParseDuration(strings.Join(parts[1:], ""))
		if err != nil || d < minEvery || d > maxEvery || d%time.Second != 0 {
			wrong("cron", "@every wants whole seconds, from 1m to 8784h, such as @every 90m")
		}
		p.every = d
	case strings.HasPrefix(text, "@"):
		wrong("cron", "knows @hourly, @daily, @weekly, @monthly, @yearly and @every 90m beside expressions of five fields")
	case len(parts) != len(fields):
		wrong("cron", "has %d fields; it needs five: minute, hour, day of the month, month, day of the week", len(parts))
	default:
		if reason := p.read(parts); reason != "" {
			wrong("cron", "%s", reason)
		}
	}
	if problems != nil {
		return nil, problems
	}
	if _, ok := p.next(anchor); !ok {
		wrong("cron", "never comes true")
	}
	return p, problems
}

// read takes in the fields of an expression, and returns what is wrong with them. The texts of package cron are of no
// help to who wrote it: each field is tried by itself.
func (p *plan) read(parts []string) string {
	for i, part := range parts {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = part
		// The library takes an empty list for one without numbers.
		if _, err := parser.Parse(strings.Join(alone, " ")); err != nil || strings.Trim(part, ",") != part || strings.Contains(part, ",,") {
			return fmt.Sprintf("field %d%s", i+1, fields[i].wrong(part))
		}
	}
	parsed, err := parser.Parse(strings.Join(parts, " "))
	bits, ok := parsed.(*cron.SpecSchedule)
	if err != nil || !ok {
		return "is no expression of five fields"
	}
	p.bits = bits
	p.elapsed = parts[0][0] == '*' || parts[0][0] == '?' || parts[1][0] == '*' || parts[1][0] == '?'
	return ""
}

// next returns the first tick after a time; false if there is none.
func (p *plan) next(after time.Time) (time.Time, bool) {
	if p.every > 0 {
		if after.Before(p.anchor) {
			return p.bounded(p.anchor)
		}
		// By Unix time: a time.Duration has no more than 292 years.
		from, step := p.anchor.Unix(), int64(p.every/time.Second)
		return p.bounded(time.Unix(from+((after.Unix()-from)/step+1)*step, 0).UTC())
	}
	y, m, d := after.In(p.zone).Date()
	day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	for range horizon {
		switch {
		case day.Year() > lastTick.Year():
			return time.Time{}, false
		case p.bits.Month&(1<<day.Month()) == 0:
			day = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		case !p.onDay(day):
		case p.elapsed:
			if t, ok := p.elapsedOn(day, after); ok {
				return p.bounded(t)
			}
		default:
			if t, ok := p.timesOn(day, after); ok {
				return p.bounded(t)
			}
		}
		day = day.AddDate(0, 0, 1)
	}
	return time.Time{}, false
}

// bounded returns a tick, unless it is in a year that JSON does not have, in UTC or by the clocks of the zone.
func (p *plan) bounded(t time.Time) (time.Time, bool) {
	return t, !t.After(lastTick) && t.In(p.zone).Year() <= lastTick.Year()
}

// onDay reports whether a day of the calendar has ticks, by day of the month and of the week: where both are restricted,
// either is enough.
func (p *plan) onDay(day time.Time) bool {
	dom, dow := p.bits.Dom&(1<<day.Day()) != 0, p.bits.Dow&(1<<day.Weekday()) != 0
	if p.bits.Dom&starBit != 0 || p.bits.Dow&starBit != 0 {
		return dom && dow
	}
	return dom || dow
}

// timesOn returns the first tick of a day after a time, each time of day being one tick.
func (p *plan) timesOn(day, after time.Time) (time.Time, bool) {
	for hour := range 24 {
		if p.bits.Hour&(1<<hour) == 0 {
			continue
		}
		for minute := range 60 {
			if p.bits.Minute&(1<<minute) == 0 {
				continue
			}
			if t := instant(day.Add(time.Duration(hour)*time.Hour+time.Duration(minute)*time.Minute), p.zone); t.After(after) {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

// elapsedOn returns the first tick of a day after a time, minute by minute as time passes.
func (p *plan) elapsedOn(day, after time.Time) (time.Time, bool) {
	end := instant(day.AddDate(0, 0, 1), p.zone)
	t := instant(day, p.zone)
	if !t.After(after) {
		t = after.Truncate(time.Minute).Add(time.Minute)
	}
	for ; t.Before(end); t = t.Add(time.Minute) {
		if local := t.In(p.zone); p.bits.Hour&(1<<local.Hour()) != 0 && p.bits.Minute&(1<<local.Minute()) != 0 {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// instant returns when a clock on the wall of a zone, whose time is given as if it were UTC, shows that time: the first
// time that it does, or for a time that is left out, when the clock goes on behind the gap.
func instant(wall time.Time, zone *time.Location) time.Time {
	const around = 26 * time.Hour
	var first time.Time
	for _, probe := range []time.Time{wall.Add(-around), wall.Add(around)} {
		_, offset := probe.In(zone).Zone()
		t := wall.Add(-time.Duration(offset) * time.Second)
		if _, real := t.In(zone).Zone(); real == offset && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if !first.IsZero() {
		return first
	}
	_, offset := wall.Add(-around).In(zone).Zone()
	start, _ := wall.Add(-time.Duration(offset) * time.Second).In(zone).ZoneBounds()
	return start.UTC()
}
