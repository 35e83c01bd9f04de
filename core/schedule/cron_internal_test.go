package schedule

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
)

// times are the next ticks of an expression after a time, as the clocks of the zone show them.
func times(t *testing.T, expression, zone, after string, count int) []string {
	t.Helper()
	from, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	p, problems := parse(expression, zone, from)
	if problems != nil {
		t.Fatal(problems)
	}
	var list []string
	for range count {
		next, ok := p.next(from)
		if !ok {
			break
		}
		if !next.After(from) {
			t.Fatalf("%s follows %s", next, from)
		}
		list, from = append(list, next.In(p.zone).Format("01-02T15:04Z07:00")), next
	}
	return list
}

func TestTicks(t *testing.T) {
	for _, tt := range []struct{ name, cron, zone, after, want string }{
		{"EveryDay", "0 3 * * *", "UTC", "2026-01-02T03:00:00Z", "01-03T03:00Z 01-04T03:00Z"},
		{"NotTheTickItself", "0 3 * * *", "UTC", "2026-01-02T02:59:59Z", "01-02T03:00Z"},
		{"Steps", "*/20 8-9 * * *", "UTC", "2026-01-02T08:20:00Z", "01-02T08:40Z 01-02T09:00Z 01-02T09:20Z 01-02T09:40Z 01-03T08:00Z"},
		{"Weekdays", "30 6 * * MON-FRI", "UTC", "2026-01-02T07:00:00Z", "01-05T06:30Z"},
		{"EitherDay", "0 0 13 * FRI", "UTC", "2026-02-01T00:00:00Z", "02-06T00:00Z 02-13T00:00Z 02-20T00:00Z 02-27T00:00Z 03-06T00:00Z 03-13T00:00Z"},
		{"LeapDay", "0 12 29 2 *", "UTC", "2096-03-01T00:00:00Z", "02-29T12:00Z"},
		{"Shorthand", "@weekly", "UTC", "2026-01-02T00:00:00Z", "01-04T00:00Z"},
		{"Every", "@every 90m", "UTC", "2026-01-02T00:00:30Z", "01-02T01:30Z 01-02T03:00Z"},
		{"HalfHourZone", "0 9 * * *", "Asia/Kolkata", "2026-01-02T00:00:00Z", "01-02T09:00+05:30"},

		// The clocks of Berlin go from 02:00 to 03:00 on March 29th, and from 03:00 to 02:00 on October 25th.
		{"Gap", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "03-29T03:00+02:00 03-30T02:30+02:00"},
		{"GapOnce", "0,15,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "03-29T03:00+02:00 03-30T02:00+02:00"},
		{"GapAndAfter", "30 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "03-29T03:00+02:00 03-29T03:30+02:00 03-30T02:30+02:00"},
		{"GapElapsed", "*/30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "03-29T01:30+01:00 03-29T03:00+02:00 03-29T03:30+02:00"},
		{"GapElapsedHour", "*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "03-30T02:00+02:00"},
		{"Overlap", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "10-25T02:30+02:00 10-26T02:30+01:00"},
		{"OverlapAfter", "0 3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "10-25T03:00+01:00"},
		{"OverlapElapsed", "30 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", "10-25T02:30+02:00 10-25T02:30+01:00 10-25T03:30+01:00"},
		{"OverlapBetween", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z", "10-26T02:30+01:00"},
		// Lord Howe moves by half an hour, Cuba at midnight, and Samoa left out a day.
		{"HalfHourGap", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "10-04T02:30+11:00 10-05T02:15+11:00"},
		{"MidnightGap", "0 0 * * *", "America/Havana", "2026-03-07T12:00:00Z", "03-08T01:00-04:00 03-09T00:00-04:00"},
		{"MidnightGapElapsed", "*/30 * * * *", "America/Havana", "2026-03-08T04:00:00Z", "03-07T23:30-05:00 03-08T01:00-04:00"},
		{"MidnightOverlap", "0 0 * * *", "America/Havana", "2026-10-31T12:00:00Z", "11-01T00:00-04:00 11-02T00:00-05:00"},
		{"NoSuchDay", "0 9 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z", "12-29T09:00-10:00 12-31T00:00+14:00 12-31T09:00+14:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := strings.Fields(tt.want)
			got := times(t, tt.cron, tt.zone, tt.after, len(want))
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), tt.want)
			}
		})
	}
}

// Whatever the zone and the expression: ticks rise, and one that is asked for from any time before it is the same.
func TestTicksRise(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca", "Asia/Tehran"} {
		for _, cron := range []string{"*/17 * * * *", "5 */3 * * *", "0 0 * * *", "59 23 31 * *", "*/10 2-3 * * SUN"} {
			p, problems := parse(cron, zone, time.Time{})
			if problems != nil {
				t.Fatal(problems)
			}
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for at.Year() == 2026 {
				next, ok := p.next(at)
				if !ok || !next.After(at) {
					t.Fatalf("%s in %s: %s after %s", cron, zone, next, at)
				}
				if again, _ := p.next(next.Add(-time.Second)); !again.Equal(next) {
					t.Fatalf("%s in %s: %s, or %s from close by", cron, zone, next, again)
				}
				at = next
			}
		}
	}
}

// Ticks are right however far away they are, and none is in a year that JSON does not have.
func TestFarTicks(t *testing.T) {
	for _, tt := range []struct{ name, cron, zone, start, want string }{
		{"Every", "@every 90m", "UTC", "2400-01-01T00:00:00Z", "2400-01-01T00:00:00Z 2400-01-01T01:30:00Z"},
		{"EveryLast", "@every 8784h", "UTC", "9998-02-01T00:00:00Z", "9998-07-03T00:00:00Z 9999-07-04T00:00:00Z"},
		{"Last", "0 0 * * *", "UTC", "9999-12-30T12:00:00Z", "9999-12-31T00:00:00Z"},
		{"Elapsed", "*/30 * * * *", "UTC", "9999-12-31T23:15:00Z", "9999-12-31T23:30:00Z"},
		{"Year10000", "0 0 1 1 *", "UTC", "9999-12-31T23:59:00Z", ""},
		{"Year10000InUTC", "30 23 31 12 *", "America/New_York", "9999-12-31T00:00:00Z", ""},
		{"Year10000InZone", "0 0 1 1 *", "Asia/Tokyo", "9999-12-31T00:00:00Z", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start, err := time.Parse(time.RFC3339, tt.start)
			if err != nil {
				t.Fatal(err)
			}
			cal, problems := newCalendar(&core.ScheduleRecord{Schedule: core.Schedule{
				Cron: tt.cron, TimeZone: tt.zone, StartAt: &start, Jitter: 86_400_000,
			}, Anchor: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
			if problems != nil {
				t.Fatal(problems)
			}
			var got []string
			for _, tick := range cal.preview(cal.anchor, 2, nil).Ticks {
				got = append(got, tick.At.Format(time.RFC3339))
				if _, err := json.Marshal(tick); err != nil {
					t.Error(err)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ cron, zone, field, want string }{
		{"", "UTC", "cron", "is missing"},
		{"* * * *", "UTC", "cron", "has 4 fields"},
		{"0 0 3 * * *", "UTC", "cron", "has 6 fields"},
		{"60 * * * *", "UTC", "cron", "field 1 (minute, 0-59): 60 is out of range"},
		{"1,50-61/2 * * * *", "UTC", "cron", "field 1 (minute, 0-59): 61 is out of range"},
		{"x/99 * * * *", "UTC", "cron", "field 1 (minute, 0-59) is no list"},
		{"0 0 0 * *", "UTC", "cron", "field 3 (day of the month, 1-31): 0 is out of range"},
		{"0 3-1 * * *", "UTC", "cron", "field 2 (hour, 0-23): 3-1 ends before it begins; write 3-23,0-1"},
		{"0 22-4/2 * * *", "UTC", "cron", "22-4 ends before it begins; write two ranges"},
		{"0 3 * * FRI-MON", "UTC", "cron", "field 5 (day of the week, 0-6 or SUN-SAT): FRI-MON ends before it begins; write FRI-SAT,SUN-MON"},
		{"0 3 * * sat-sun", "UTC", "cron", "write sat,sun"},
		{"0 3 * * 5-1", "UTC", "cron", "write 5-6,0-1"},
		{"0 3 * NOV-FEB *", "UTC", "cron", "write NOV-DEC,JAN-FEB"},
		{"0 3 * * 5-7", "UTC", "cron", "7 is out of range; Sunday is 0 or SUN"},
		{"0 7-3-1 * * *", "UTC", "cron", "is no list"},
		{"0 3 L * *", "UTC", "cron", "field 3 (day of the month, 1-31)"},
		{"0 3 * * 7", "UTC", "cron", "field 5 (day of the week, 0-6 or SUN-SAT): 7 is out of range; Sunday is 0 or SUN"},
		{"0 3 * * ,", "UTC", "cron", "field 5"},
		{"0 3 , * *", "UTC", "cron", "field 3"},
		{"*/0 3 * * *", "UTC", "cron", "field 1"},
		{"0 0 30 2 *", "UTC", "cron", "never comes true"},
		{"TZ= 0 3 * * *", "UTC", "cron", "must not name a time zone"},
		{"CRON_TZ=X", "UTC", "cron", "must not name a time zone"},
		{"@reboot", "UTC", "cron", "knows @hourly"},
		{"@every 1s", "UTC", "cron", "from 1m"},
		{"@every", "UTC", "cron", "from 1m"},
		{"@every 90000h", "UTC", "cron", "from 1m"},
		{strings.Repeat("0", 300), "UTC", "cron", "at most 256"},
		{"0 3 * * *", "Mars/Olympus", "timeZone", "IANA"},
		{"0 3 * * *", "Local", "timeZone", "IANA"},
		{"0 3 * * *", "../../etc/passwd", "timeZone", "IANA"},
	} {
		_, problems := parse(tt.cron, tt.zone, time.Time{})
		if len(problems) != 1 || problems[0].Path != tt.field || !strings.Contains(problems[0].Reason, tt.want) {
			t.Errorf("%q in %q: %v, want %s: %s", tt.cron, tt.zone, problems, tt.field, tt.want)
		}
	}
}

// What is to be written instead of a range that goes around means the same days, hours and months.
func TestParseRangesAround(t *testing.T) {
	for _, tt := range []struct{ cron, after, want string }{
		{"0 3 * * FRI-MON", "2026-01-05T03:00:00Z", "01-09T03:00Z 01-10T03:00Z 01-11T03:00Z 01-12T03:00Z 01-16T03:00Z"},
		{"0 3 * * sat-sun", "2026-01-05T03:00:00Z", "01-10T03:00Z 01-11T03:00Z 01-17T03:00Z"},
		{"0 3 * * 5-0", "2026-01-05T03:00:00Z", "01-09T03:00Z 01-10T03:00Z 01-11T03:00Z 01-16T03:00Z"},
		{"0 23-1 * * *", "2026-01-05T03:00:00Z", "01-05T23:00Z 01-06T00:00Z 01-06T01:00Z 01-06T23:00Z"},
		{"0 3 1 NOV-FEB *", "2026-01-05T03:00:00Z", "02-01T03:00Z 11-01T03:00Z 12-01T03:00Z 01-01T03:00Z"},
	} {
		_, problems := parse(tt.cron, "UTC", time.Time{})
		if len(problems) != 1 {
			t.Fatalf("%q: %v", tt.cron, problems)
		}
		refused, instead, _ := strings.Cut(problems[0].Reason, " ends before it begins; write ")
		expression := strings.Replace(tt.cron, refused[strings.LastIndexByte(refused, ' ')+1:], instead, 1)
		if got := strings.Join(times(t, expression, "UTC", tt.after, len(strings.Fields(tt.want))), " "); got != tt.want {
			t.Errorf("%q for %q: %s, want %s", expression, tt.cron, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"* * * * *", "0 3 * * MON-FRI", "@every 90m", "TZ=0", "*/5,1-3/2 ? 1 JAN 0", "@", " "} {
		f.Add(seed)
	}
	from := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		p, problems := parse(text, "Europe/Berlin", from)
		if problems != nil {
			return
		}
		if next, ok := p.next(from); !ok || !next.After(from) {
			t.Errorf("%q: %s after %s", text, next, from)
		}
	})
}

// Spans of ticks join, stay in order, and are bounded.
func TestFired(t *testing.T) {
	start := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	cal, problems := newCalendar(&core.ScheduleRecord{Schedule: core.Schedule{Cron: "* * * * *", TimeZone: "UTC"}})
	if problems != nil {
		t.Fatal(problems)
	}
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	var fired []core.TickSpan
	for _, n := range []int{1, 2, 3, 10, 11, 5, 3, 4, 6, 7, 8} {
		fired = cal.fire(fired, minute(n))
	}
	if len(fired) != 2 || !fired[0].From.Equal(minute(1)) || !fired[0].To.Equal(minute(8)) || !fired[1].From.Equal(minute(10)) || !fired[1].To.Equal(minute(11)) {
		t.Fatalf("%v", fired)
	}
	for n, want := range map[int]int{0: 9, 5: 9, 8: 9, 9: 12, 11: 12} {
		if got, ok := cal.unfired(minute(n), fired); !ok || !got.Equal(minute(want)) {
			t.Errorf("after %d: %s, want %s", n, got, minute(want))
		}
	}
	fired = cal.fire(fired, minute(9))
	if len(fired) != 1 || !fired[0].To.Equal(minute(11)) {
		t.Fatalf("%v", fired)
	}
	for n := range 40 {
		fired = cal.fire(fired, minute(100+10*n))
	}
	if len(fired) != maxSpans || !fired[maxSpans-1].To.Equal(minute(490)) {
		t.Errorf("%d spans, the last to %s", len(fired), fired[len(fired)-1].To)
	}
}

// Jitter is the same each time, spreads, and never reaches the next tick.
func TestJitter(t *testing.T) {
	cal, problems := newCalendar(&core.ScheduleRecord{Schedule: core.Schedule{ID: "sched_1", Cron: "*/2 * * * *", TimeZone: "UTC", Jitter: 600_000}})
	if problems != nil {
		t.Fatal(problems)
	}
	at, seen := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), map[time.Duration]bool{}
	for range 500 {
		tick, _ := cal.next(at)
		by := cal.startOf(tick).Sub(tick)
		if by < 0 || by >= 2*time.Minute || by != cal.startOf(tick).Sub(tick) {
			t.Fatalf("%s by %s", tick, by)
		}
		seen[by.Truncate(10*time.Second)] = true
		at = tick
	}
	if len(seen) < 11 {
		t.Errorf("only %d of 12 tenths of the time are used", len(seen))
	}
}

// However long it was, what is overdue is found quickly.
func TestOverdue(t *testing.T) {
	cal, problems := newCalendar(&core.ScheduleRecord{Schedule: core.Schedule{Cron: "* * * * *", TimeZone: "Europe/Berlin"}})
	if problems != nil {
		t.Fatal(problems)
	}
	now := time.Date(2026, 1, 2, 0, 0, 30, 0, time.UTC)
	newest, rest := cal.overdue(t.Context(), now.Add(-10*time.Minute), now, nil, 3)
	if len(newest) != 3 || !newest[2].Equal(now.Truncate(time.Minute)) || rest.count != 7 || !rest.last.Equal(newest[0].Add(-time.Minute)) {
		t.Errorf("%v, %+v", newest, rest)
	}
	if newest, rest = cal.overdue(t.Context(), now.Add(-10*time.Minute), now, nil, 0); len(newest) != 0 || rest.count != 10 || !rest.last.Equal(now.Truncate(time.Minute)) {
		t.Errorf("%v, %+v", newest, rest)
	}
	if newest, rest = cal.overdue(t.Context(), now.AddDate(-20, 0, 0), now, nil, 2); len(newest) != 2 || rest.count != maxCounted {
		t.Errorf("%v, %+v", newest, rest)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if newest, _ = cal.overdue(over, now.AddDate(-20, 0, 0), now, nil, 2); len(newest) != 0 {
		t.Errorf("went on after its context ended: %v", newest)
	}
}
