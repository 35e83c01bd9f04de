package cmd

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

// filter is a flag of a list that selects rows.
type filter struct {
	flag    string
	usage   string
	kind    filterKind
	words   []string // the values that it takes; nil for any
	initial string
}

// filterKind is how the value of a filter is read.
type filterKind int

const (
	filterText  filterKind = iota
	filterTexts            // comma-separated, all of them
	filterPairs            // key=value, may be repeated
	filterTime             // a time, or a duration back from now
	filterCount            // a whole number, 0 for none
)

// oneOf returns a filter that takes one of some words.
func oneOf[W ~string](flag string, words []W, more ...string) filter {
	f := filter{flag: flag}
	for _, word := range words {
		f.words = append(f.words, string(word))
	}
	f.words = append(f.words, more...)
	f.usage = f.choice()
	return f
}

// anyOf returns a filter that takes any of some words, comma-separated.
func anyOf[W ~string](flag string, words []W) filter {
	f := oneOf(flag, words)
	f.kind, f.usage = filterTexts, f.usage+"; several: comma-separated"
	return f
}

// choice lists the words that f takes.
func (f filter) choice() string {
	last := len(f.words) - 1
	return strings.Join(f.words[:last], ", ") + " or " + f.words[last]
}

// selection selects the rows of a list.
type selection struct {
	client.Page
	all    bool     // every page
	most   int      // bytes of the rows of all pages; more is an error
	args   []string // of the command
	values map[string]any
}

func (s selection) text(flag string) string {
	v, _ := s.values[flag].(string)
	return v
}

func (s selection) texts(flag string) []string {
	v, _ := s.values[flag].([]string)
	return v
}

func (s selection) pairs(flag string) map[string]string {
	v, _ := s.values[flag].(map[string]string)
	return v
}

func (s selection) time(flag string) time.Time {
	v, _ := s.values[flag].(time.Time)
	return v
}

// registerFilters adds the flags of filters, but for those that cmd has already.
func registerFilters(cmd *cobra.Command, filters []filter) {
	for _, f := range filters {
		switch flags := cmd.Flags(); {
		case flags.Lookup(f.flag) != nil:
		case f.kind == filterTexts:
			flags.StringSlice(f.flag, nil, f.usage)
		case f.kind == filterPairs:
			flags.StringArray(f.flag, nil, f.usage)
		case f.kind == filterCount:
			flags.Uint64(f.flag, 0, f.usage)
		default:
			flags.String(f.flag, f.initial, f.usage)
		}
		if f.words != nil {
			// It fails only where two filters share a flag, of which the first one's words are offered.
			_ = cmd.RegisterFlagCompletionFunc(f.flag, cobra.FixedCompletions(f.words, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// allLimit is the page size for reading a whole list: the largest the server gives.
const allLimit = 100

// watchInterval is the time between two looks of --watch.
const watchInterval = 2 * time.Second

// registerListing adds the flags that every list has.
func registerListing(cmd *cobra.Command, paged bool) {
	flags := cmd.Flags()
	flags.BoolP("quiet", "q", false, "ids only, as with -o name")
	flags.Bool("watch", false, "show the list again and again until Ctrl-C")
	exclusive(cmd, "quiet", "output")
	if !paged {
		return
	}
	flags.Int("limit", 0, "rows of a page, 1 to 100 (default 20)")
	flags.String("cursor", "", "nextCursor of the page before")
	flags.Bool("all", false, "all rows, page by page")
	exclusive(cmd, "all", "limit")
}

// registerOffset registers the flag of lists that can skip rows.
func registerOffset(cmd *cobra.Command) {
	cmd.Flags().Int("offset", 0, "rows to skip")
	exclusive(cmd, "offset", "cursor")
}

// isSet returns the value of a flag without one; false of a flag that the command does not have.
func isSet(cmd *cobra.Command, name string) bool {
	v, _ := cmd.Flags().GetBool(name)
	return v
}

// selection reads the flags of registerFilters and registerListing.
func (c *cli) selection(cmd *cobra.Command, filters []filter, args []string) (selection, error) {
	flags := cmd.Flags()
	sel := selection{args: args, all: isSet(cmd, "all"), most: maxList, values: map[string]any{}}
	// A list without pages does not have these; they are then zero.
	sel.Limit, _ = flags.GetInt("limit")
	sel.Offset, _ = flags.GetInt("offset")
	sel.Cursor, _ = flags.GetString("cursor")
	if isSet(cmd, "quiet") {
		c.output = "name"
	}
	for _, f := range filters {
		var err error
		switch f.kind {
		case filterTexts:
			var words []string
			words, err = flags.GetStringSlice(f.flag)
			for i := range words {
				if err == nil {
					err = checkWord(cmd, f, words[i])
				}
			}
			sel.values[f.flag] = words
		case filterPairs:
			var pairs []string
			if pairs, err = flags.GetStringArray(f.flag); err == nil {
				sel.values[f.flag], err = keyValues[string](cmd, f.flag, pairs)
			}
		case filterCount:
			sel.values[f.flag], err = flags.GetUint64(f.flag)
		default:
			var text string
			if text, err = flags.GetString(f.flag); err == nil {
				err = checkWord(cmd, f, text)
			}
			sel.values[f.flag] = text
			if err == nil && f.kind == filterTime {
				sel.values[f.flag], err = timeFlag(cmd, f.flag, text, c.now())
			}
		}
		if err != nil {
			return sel, err
		}
	}
	return sel, nil
}

// checkWord refuses a text that is not one of the filter's words. Empty selects all.
func checkWord(cmd *cobra.Command, f filter, text string) error {
	if f.words == nil || slices.Contains(f.words, text) || (text == "" && f.initial == "") {
		return nil
	}
	return usagef(cmd, "--%s must be %s, not %q", f.flag, f.choice(), text)
}
