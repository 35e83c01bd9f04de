package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

// kind is a noun of which a word on the command line names one.
type kind interface {
	// isID reports whether a word is for the server to judge as it stands, without looking anything up.
	isID(word string) bool
	// matches returns what a word that is no id may mean: what it is the name of, or the beginning of the id of. args stand
	// before it in the command.
	matches(ctx context.Context, api *client.Client, args []string, word string) ([]match, error)
	// words returns what begins like that, each with what it is behind a tab.
	words(ctx context.Context, api *client.Client, args []string, begin string) ([]string, error)
}

// match is one of the things that a word may mean.
type match struct {
	id, about string
	over      bool
}

// Bounds of looking names up.
const (
	scanPages      = 20              // pages of a list that are searched, the newest ones
	completionTime = 3 * time.Second // for the candidates behind TAB
)

// What comes behind the prefix of an id: a ULID.
const (
	idLength = 26
	idDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// idBegins reports whether text is the beginning of a ULID, as far as one can be made before the year 3084.
func idBegins(text string) bool {
	return text != "" && len(text) < idLength && text[0] == '0' && strings.Trim(text, idDigits) == ""
}

func (r *resource[T]) isID(word string) bool {
	rest, ok := strings.CutPrefix(word, r.prefix)
	return r.prefix == "" || ok && rest != "" && !idBegins(rest)
}

func (r *resource[T]) matches(ctx context.Context, api *client.Client, args []string, word string) ([]match, error) {
	rest, prefixed := strings.CutPrefix(word, r.prefix)
	byID := idBegins(rest) || core.ValidID("", rest) || prefixed && rest == ""
	byName := r.name != nil && !prefixed
	if !byID && !byName {
		return nil, nil
	}
	sel := selection{Page: client.Page{Limit: allLimit}, args: args, values: map[string]any{}}
	if byID && !byName {
		r.narrow(&sel, rest)
	}
	var found []match
	whole, err := r.scan(ctx, api, sel, scanPages, func(row *T) {
		id := r.id(row)
		if (byName && r.name(row) == word || byID && strings.HasPrefix(id, r.prefix+rest)) &&
			!slices.ContainsFunc(found, func(m match) bool { return m.id == id }) {
			found = append(found, match{id, r.about(row), r.over != nil && r.over(row)})
		}
	})
	if err == nil && !whole && len(found) == 0 {
		err = &outcomeError{
			code:    exitNotFound,
			message: fmt.Sprintf("%q is none of the newest %d of the %ss", word, scanPages*allLimit, r.noun),
			hint:    "name an older one by its whole id",
		}
	}
	return found, err
}

// narrow makes a list that can be selected by time hold what the ids that begin like that were made at.
func (r *resource[T]) narrow(sel *selection, begin string) {
	if !slices.ContainsFunc(r.filters, func(f filter) bool { return f.flag == "since" }) || len(begin) > idLength {
		return
	}
	more := idLength - len(begin)
	from, ok := core.IDTime("_" + begin + strings.Repeat("0", more))
	until, also := core.IDTime("_" + begin + strings.Repeat("Z", more))
	if ok && also {
		sel.values["since"], sel.values["until"] = from, until.Add(time.Millisecond)
	}
}

// scan calls see for the rows of so many pages at most, and reports whether these were all rows.
func (r *resource[T]) scan(ctx context.Context, api *client.Client, sel selection, pages int, see func(row *T)) (whole bool, err error) {
	for range pages {
		body, info, err := r.page(ctx, api, sel)
		if err != nil {
			return false, err
		}
		rows, err := members[T](body, r.member)
		if err != nil {
			return false, err
		}
		for i := range rows {
			see(&rows[i])
		}
		if !info.HasMore || len(rows) == 0 && info.NextCursor == "" {
			return true, nil
		}
		sel.Cursor = info.NextCursor
		sel.Offset += len(rows)
	}
	return false, nil
}

// about says what a row is, beside its id.
func (r *resource[T]) about(row *T) string {
	name, status := "", ""
	if r.name != nil {
		name = r.name(row)
	}
	if r.status != nil {
		status = r.status(row)
	}
	return clean(spaced(name, status))
}

func (r *resource[T]) words(ctx context.Context, api *client.Client, args []string, begin string) ([]string, error) {
	names := map[string]int{}
	var rows []*T
	sel := selection{Page: client.Page{Limit: allLimit}, args: args, values: map[string]any{}}
	if _, err := r.scan(ctx, api, sel, 1, func(row *T) {
		rows = append(rows, row)
		if r.name != nil && (r.over == nil || !r.over(row)) {
			names[r.name(row)]++
		}
	}); err != nil {
		return nil, err
	}
	var out []string
	for _, row := range rows {
		id, name := r.id(row), ""
		if r.name != nil && (r.over == nil || !r.over(row)) && names[r.name(row)] == 1 && isPlain(r.name(row)) {
			name = r.name(row)
		}
		if name != "" && strings.HasPrefix(name, begin) {
			out = append(out, name+"\t"+clean(id))
		}
		if strings.HasPrefix(id, begin) && (name == "" || begin != "") && isPlain(id) {
			out = append(out, id+"\t"+r.about(row))
		}
	}
	return out, nil
}

// isPlain reports whether a word from elsewhere may be offered to a shell: bash puts what several of them begin with on the
// command line as it is, and evaluates that with the next completion.
func isPlain(word string) bool {
	return word != "" && word[0] != '-' && !strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.,:@%+/=", r)
	})
}

// kinds are several kinds of which a word may name any.
type kinds []kind

func (k kinds) isID(word string) bool {
	return slices.ContainsFunc(k, func(one kind) bool { return one.isID(word) })
}

func (k kinds) matches(ctx context.Context, api *client.Client, args []string, word string) (found []match, err error) {
	for _, one := range k {
		more, err := one.matches(ctx, api, args, word)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

func (k kinds) words(ctx context.Context, api *client.Client, args []string, begin string) (all []string, err error) {
	for _, one := range k {
		more, err := one.words(ctx, api, args, begin)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// wordKind is a kind whose words need no look-up to be understood.
type wordKind func(ctx context.Context, api *client.Client) ([]string, error)

func (k wordKind) isID(string) bool { return true }

func (k wordKind) matches(context.Context, *client.Client, []string, string) ([]match, error) {
	return nil, nil
}

func (k wordKind) words(ctx context.Context, api *client.Client, _ []string, begin string) ([]string, error) {
	all, err := k(ctx, api)
	return slices.DeleteFunc(all, func(word string) bool { return !strings.HasPrefix(word, begin) }), err
}

// fixed is a kind of words that the program knows.
func fixed[W ~string](list ...W) wordKind {
	return func(context.Context, *client.Client) ([]string, error) {
		words := make([]string, len(list))
		for i, word := range list {
			words[i] = string(word)
		}
		return words, nil
	}
}

// agentTypes are the types that the server's runtimes can start.
var agentTypes wordKind = func(ctx context.Context, api *client.Client) ([]string, error) {
	list, err := api.ListRuntimes(ctx)
	if err != nil {
		return nil, err
	}
	var types []string
	for _, r := range list.Runtimes {
		types = append(types, r.Types...)
	}
	slices.Sort(types)
	return slices.DeleteFunc(slices.Compact(types), func(name string) bool { return !isPlain(name) }), nil
}

// flagKinds are the kinds that flags name one of, wherever they are.
var flagKinds = map[string]kind{
	"execution": executions, "batch": batches, "pattern": patterns, "runtime": runtimes, "agent": connectedAgents, "workspace": workspaces,
	"type": agentTypes, "approval": fixed(ofApproval.words...), "priority": fixed(ofPriority.words...),
	"event": fixed(append([]core.EventType{"*"}, core.PublicEvents...)...), "state": fixed(core.CompletionStates...),
	"format": fixed("json", "jsonl", "csv"),
}

// argumentKinds are the kinds that arguments name one of, by how usages call them. ID and NAME are of the noun that the
// command is about.
var argumentKinds = map[string]kind{"TYPE": agentTypes, "DELIVERY": deliveries, "OPTION": fixed("allow", "deny")}

// resolve returns the id of what a word behind args names. A word that names nothing is returned as it is: the server says so.
func (c *cli) resolve(cmd *cobra.Command, k kind, args []string, word string) (string, error) {
	if word == "" || k.isID(word) {
		return word, nil
	}
	var found []match
	if err := c.call(cmd, func(ctx context.Context, api *client.Client) (err error) {
		found, err = k.matches(ctx, api, args, word)
		return err
	}); err != nil {
		return "", err
	}
	if live := slices.DeleteFunc(slices.Clone(found), func(m match) bool { return m.over }); len(live) > 0 {
		found = live // people give the name of what has ended to something new
	}
	switch len(found) {
	case 0:
		return word, nil
	case 1:
		return found[0].id, nil
	}
	err := &usageError{message: fmt.Sprintf("%q means several", word), hint: "name the one that is meant by its id"}
	for _, m := range found[:min(len(found), 10)] {
		err.candidates = append(err.candidates, strings.TrimSpace(m.id+"  "+m.about))
	}
	if more := len(found) - len(err.candidates); more > 0 {
		err.candidates = append(err.candidates, fmt.Sprintf("and %d more", more))
	}
	return "", err
}

// resolveAll turns the names among the arguments and flags of a command into ids.
func (c *cli) resolveAll(cmd *cobra.Command, list []parameter, of kind, args []string) ([]string, error) {
	if f := cmd.Flags().Lookup("config"); f != nil && f.Changed {
		return args, nil // the server may not run
	}
	args = slices.Clone(args)
	for i := range args {
		if k := argumentKind(list, of, i); k != nil {
			var err error
			if args[i], err = c.resolve(cmd, k, args[:i], args[i]); err != nil {
				return nil, err
			}
		}
	}
	for name, k := range flagKinds {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed || k.isID(f.Value.String()) {
			continue
		}
		id, err := c.resolve(cmd, k, nil, f.Value.String())
		if err == nil {
			err = f.Value.Set(id)
		}
		if err != nil {
			return nil, err
		}
	}
	return args, nil
}

// argumentKind returns the kind of the argument at a place, or nil.
func argumentKind(list []parameter, of kind, place int) kind {
	if len(list) == 0 || (place >= len(list) && !list[len(list)-1].many) {
		return nil
	}
	p := list[min(place, len(list)-1)]
	if p.name == "ID" || p.name == "NAME" {
		return of
	}
	return argumentKinds[p.name]
}

// completes offers the words of a kind, and nothing when the server cannot be asked.
func (c *cli) completes(cmd *cobra.Command, k kind, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	api, err := c.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	words, err := k.words(ctx, api, args, begin)
	if err != nil {
		cobra.CompErrorln(err.Error()) // shown by `wardroom __complete` only
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// nounGroup makes cmd a group of commands about a noun.
func (c *cli) nounGroup(noun kind, cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd = group(cmd)
	c.nouns[cmd] = noun
	cmd.AddCommand(commands...)
	return cmd
}

// prepare makes every command from cmd down take the arguments that its usage names, resolve the names among them, and
// complete them. of is the noun that the commands are about.
func (c *cli) prepare(cmd *cobra.Command, of kind) {
	if own, ok := c.nouns[cmd]; ok {
		of = own
	}
	for _, child := range cmd.Commands() {
		c.prepare(child, of)
	}
	if cmd.RunE == nil || cmd.HasSubCommands() {
		return
	}
	list, run := parameters(cmd.Use), cmd.RunE
	if cmd.Args == nil {
		cmd.Args = takes(list)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		args, err := c.resolveAll(cmd, list, of, args)
		if err != nil {
			return err
		}
		return run(cmd, args)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if k := argumentKind(list, of, len(args)); k != nil {
			return c.completes(cmd, k, args, begin)
		}
		if len(args) < len(list) && (list[len(args)].name == "FILE" || list[len(args)].name == "DIR") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for name, k := range flagKinds {
		if cmd.Flags().Lookup(name) == nil {
			continue
		}
		// It fails where the command has words of its own for the flag, which are right.
		_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
			return c.completes(cmd, k, args, begin)
		})
	}
}
