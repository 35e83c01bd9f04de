package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field is a part of an expression.
type field struct {
	name, bounds string
	least, most  int
	names        []string // of its numbers, from least on; nil: they have none
}

// fields are the parts of an expression, in their order.
var fields = []field{
	{name: "minute", bounds: "0-59", most: 59},
	{name: "hour", bounds: "0-23", most: 23},
	{name: "day of the month", bounds: "1-31", least: 1, most: 31},
	{name: "month", bounds: "1-12 or JAN-DEC", least: 1, most: 12, names: strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC")},
	{name: "day of the week", bounds: "0-6 or SUN-SAT", most: 6, names: strings.Fields("SUN MON TUE WED THU FRI SAT")},
}

// wrong returns what is wrong with a text that package cron does not take for the field. Steps have no bounds.
func (f *field) wrong(text string) string {
	for item := range strings.SplitSeq(text, ",") {
		numbers, _, stepped := strings.Cut(item, "/")
		ends := strings.Split(numbers, "-")
		for _, end := range ends {
			n, err := strconv.Atoi(end)
			switch {
			case err != nil || n >= f.least && n <= f.most:
			case n == 7 && f.most == 6:
				return fmt.Sprintf(" (%s, %s): 7 is out of range; Sunday is 0 or SUN", f.name, f.bounds)
			default:
				return fmt.Sprintf(" (%s, %s): %d is out of range", f.name, f.bounds, n)
			}
		}
		if len(ends) == 2 && f.number(ends[0]) > f.number(ends[1]) && f.number(ends[1]) >= f.least {
			instead := "two ranges, with a comma between them"
			if !stepped {
				instead = f.around(ends[0], ends[1])
			}
			return fmt.Sprintf(" (%s, %s): %s ends before it begins; write %s", f.name, f.bounds, numbers, instead)
		}
	}
	return fmt.Sprintf(" (%s, %s) is no list of numbers, ranges such as 1-5 and steps such as */15", f.name, f.bounds)
}

// number returns the number that a text stands for; -1 if it is neither one nor a name.
func (f *field) number(text string) int {
	if i := slices.Index(f.names, strings.ToUpper(text)); i >= 0 {
		return f.least + i
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return -1
}

// around writes a range that goes on behind the last number with the first one, as a list that package cron takes.
func (f *field) around(from, to string) string {
	first, last := strconv.Itoa(f.least), strconv.Itoa(f.most)
	if f.names != nil && slices.Contains(f.names, strings.ToUpper(from)) {
		first, last = f.names[0], f.names[len(f.names)-1]
	}
	head, tail := from+"-"+last, first+"-"+to
	if f.number(from) == f.most {
		head = from
	}
	if f.number(to) == f.least {
		tail = to
	}
	return head + "," + tail
}
