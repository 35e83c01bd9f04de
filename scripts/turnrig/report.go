package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

// tally is what came of the turns of one command line.
type tally struct {
	turns, struck, unknown                            int
	repeated                                          int // requests that the command line made again by itself
	lost, doubled, merged, misattributed, wrong, told int
	examples                                          []string
}

// note counts something that is wrong.
func (y *tally) note(count *int, format string, args ...any) {
	*count++
	if len(y.examples) < 20 {
		y.examples = append(y.examples, fmt.Sprintf(format, args...))
	}
}

// report compares what arrived at the models, and the events, with what was sent, and prints the table.
func (r *rig) report(ctx context.Context) error {
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CLI\tTURNS\tWRONG\tLOST\tDOUBLED\tMERGED\tMISATTRIBUTED\tEVENTS WRONG\tSTRUCK\tUNKNOWN\tREPEATED")
	broken := false
	var examples []string
	for _, tool := range r.options.tools {
		y := &tally{}
		for _, a := range r.actors {
			if a.tool != tool || a.id == "" {
				continue
			}
			a.arrived(y)
			if err := a.told(ctx, y); err != nil {
				return err
			}
		}
		broken = broken || y.wrong+y.lost+y.doubled+y.merged+y.misattributed+y.told > 0
		examples = append(examples, y.examples...)
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n",
			tool, y.turns, y.wrong, y.lost, y.doubled, y.merged, y.misattributed, y.told, y.struck, y.unknown, y.repeated)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "killed: core %d, plugin %d, command line %d, holder %d; %s\n",
		r.kills["core"], r.kills["plugin"], r.kills["cli"], r.kills["holder"], time.Since(r.began).Round(time.Second))
	hung := 0
	for _, a := range r.actors {
		for _, t := range a.turns {
			if t.hung {
				hung++
			}
		}
	}
	if hung > 0 {
		fmt.Fprintf(r.out, "interrupted because gemini did nothing for %s: %d\n", hangLimit, hung)
	}
	if err := r.byKind(); err != nil {
		return err
	}
	for _, e := range examples {
		fmt.Fprintln(r.out, "  "+e)
	}
	if broken {
		return errBroken
	}
	return nil
}

// byKind prints how many turns of each kind the command lines had, and how long half of them took at most.
func (r *rig) byKind() error {
	times := map[string]map[string][]time.Duration{}
	for _, a := range r.actors {
		for _, t := range a.turns {
			if t.cut {
				continue
			}
			if times[t.script.kind] == nil {
				times[t.script.kind] = map[string][]time.Duration{}
			}
			times[t.script.kind][a.tool] = append(times[t.script.kind][a.tool], t.took)
		}
	}
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KIND\t"+strings.ToUpper(strings.Join(r.options.tools, "\t")))
	for i := range scripts {
		kind := scripts[i].kind
		if times[kind] == nil {
			continue
		}
		fmt.Fprint(table, kind)
		for _, tool := range r.options.tools {
			took := times[kind][tool]
			if len(took) == 0 {
				fmt.Fprint(table, "\t0")
				continue
			}
			slices.Sort(took)
			fmt.Fprintf(table, "\t%d in %.1f s", len(took), took[len(took)/2].Seconds())
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

// summary begins a request that gemini makes of its own accord, with what was said so far.
const summary = "Summarize the user's primary intent"

// arrived compares the requests of an agent at its model with its turns.
func (a *actor) arrived(y *tally) {
	first := map[string]int{}      // begun turns by user text: no tool result yet, answered with anything but an error
	asked := map[string]bool{}     // of those, by user text and length of the conversation
	any := map[string]int{}        // requests by user text
	mixed := map[string][]string{} // user texts with several names
	prefix := fmt.Sprintf("turn-%s-%d-", a.tool, a.number)
	for _, q := range a.model.Requests() {
		if q.Kind == "side" || q.User == "" || strings.HasPrefix(q.User, summary) {
			continue
		}
		found := names.FindAllString(q.User, -1)
		if len(found) == 0 || !strings.HasPrefix(found[0], prefix) {
			continue
		}
		for _, other := range found[1:] {
			if other != found[0] {
				mixed[q.User] = found
			}
		}
		user := squeezed(q.User)
		any[user]++
		if q.Results != 0 || q.Status >= 400 || !whole(q) {
			continue
		}
		// The same conversation once more is a repeat of the program's own: a message that came twice makes it longer.
		key := fmt.Sprintf("%d %s", q.Entries, user)
		if asked[key] {
			y.repeated++
			continue
		}
		asked[key] = true
		first[user]++
	}
	for _, t := range a.turns {
		if t.cut {
			continue
		}
		y.turns++
		if t.struck {
			y.struck++
		}
		if t.unknown {
			y.unknown++
		}
		switch {
		case strings.HasPrefix(t.wrong, "misattributed"):
			y.note(&y.misattributed, "%s: %s", t, t.wrong)
		case t.wrong != "":
			y.note(&y.wrong, "%s: %s", t, t.wrong)
		}
		text := squeezed(t.text)
		if any[text] == 0 && !t.struck && !t.unknown && t.wrong == "" {
			y.note(&y.lost, "%s never arrived", t)
		}
		if first[text] > 1 && !t.struck {
			y.note(&y.doubled, "%s arrived %d times", t, first[text])
		}
		if t.typed != "" && first[squeezed(t.typed)] > 1 && !t.struck {
			y.note(&y.doubled, "%q arrived %d times", t.typed, first[squeezed(t.typed)])
		}
	}
	for user, found := range mixed {
		y.note(&y.merged, "%q arrived as one, of %v", user, found)
	}
}

// whole reports whether a request was answered to its end: the program repeats one that broke off.
func whole(q fakemodel.Request) bool { return q.Note == "" && q.DoneNs != 0 }

// told compares the stored events of an agent with its turns: each turn's end is reported once, and with its own text.
func (a *actor) told(ctx context.Context, y *tally) error {
	byNumber := map[int]*turn{}
	for _, t := range a.turns {
		if t.number > 0 {
			byNumber[t.number] = t
		}
	}
	ended := map[int]int{}
	for since := uint64(0); ; {
		page, err := a.rig.server.Client.ListManagedAgentEvents(ctx, a.id, since, 100)
		if err != nil {
			return fmt.Errorf("the events of %s: %w", a.id, err)
		}
		for _, e := range page.Events {
			if e.Type != "managed_agent.turn_complete" {
				continue
			}
			d, err := e.Decode()
			if err != nil {
				return err
			}
			ended[d.Turn]++
			t := byNumber[d.Turn]
			switch {
			case ended[d.Turn] > 1:
				y.note(&y.told, "%s: the end of turn %d is told %d times", a.name(), d.Turn, ended[d.Turn])
			case t != nil && d.Text != t.answer && !strings.HasPrefix(t.answer, d.Text):
				y.note(&y.told, "%s: the event has the text %.200q, the response %.200q", t, d.Text, t.answer)
			}
		}
		if !page.HasMore {
			break
		}
		since = page.NextSince
	}
	for number, t := range byNumber {
		if ended[number] == 0 {
			y.note(&y.told, "%s: the end of its turn %d is not told", t, number)
		}
	}
	return nil
}
