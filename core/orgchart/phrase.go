package orgchart

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// exact is what whole answers and values mean, normalized.
var exact = exactWords(map[signals]string{
	saysApprove: "approve|approved|approves|approval|accept|accepted|acceptance|lgtm|ok|okay|yes|pass|passed|good|all good|looks good|" +
		"looks good to me|ship|ship it|agree|agreed|good to go|go|go ahead|sign off|signed off|endorse|endorsed|merge|merge it|" +
		"granted|allow|allowed|confirmed|👍|✅|approve as is|accept as is|approved as is|no objections|thumbs up|i approve|positive",
	saysRevise: "revise|revision|revisions|revise and resubmit|needs revision|needs revisions|needs work|need work|needs more work|" +
		"needs changes|need changes|needs improvement|needs rework|needs fixes|request changes|requests changes|requested changes|" +
		"changes requested|changes required|changes needed|requires changes|rework|redo|minor changes|major changes|" +
		"minor revisions|major revisions|minor revision|major revision|modify|improve|fix|fixes needed|incomplete|send back|not ready|🔄",
	saysReject: "reject|rejected|rejects|rejection|deny|denied|denies|decline|declined|refuse|refused|disapprove|disapproved|" +
		"veto|vetoed|no|nack|nak|fail|failed|fails|block|blocked|do not merge|not acceptable|unacceptable|no go|thumbs down|👎|❌|i reject|negative",
	saysNot: "not approved|not approve|do not approve|can not approve|unapproved|non approved|not accepted|not yet|not yet approved|disagree",
})

// exactOf returns what a whole answer or value means, when it is nothing but a word or two.
func exactOf(text string) (signals, bool) {
	if len(text) > 64 {
		return 0, false
	}
	switch text = strings.TrimSpace(text); text {
	case "+1":
		return saysApprove, true
	case "-1":
		return saysReject, true
	}
	s, ok := exact[normalize(text)]
	return s, ok && !strings.HasSuffix(text, "?")
}

// statusWords say how the work of judging went where they are the value of a status.
var statusWords = words("ok okay yes pass passed good go no fail failed fails block blocked positive negative fix modify improve " +
	"allow allowed confirmed incomplete ship merge")

func exactWords(lists map[signals]string) map[string]signals {
	all := make(map[string]signals)
	for s, list := range lists {
		for _, word := range strings.Split(list, "|") {
			all[word] = s
		}
	}
	return all
}

// sentence is a sentence in lower case, contractions spelled out, without marks; " , " divides its clauses.
type sentence struct {
	text  string
	asked bool // it ends with a question mark
}

// maxSentences is how many sentences are read from each end of a text.
const maxSentences = 300

// sentences takes a text apart, without quotations of others and code.
func sentences(text string) []sentence {
	var list []sentence
	code := false
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if code || strings.HasPrefix(line, "```") || strings.HasPrefix(line, ">") {
			continue
		}
		begin := 0
		for i := 0; i < len(line); i++ {
			if line[i] != '.' && line[i] != '!' && line[i] != '?' {
				continue
			}
			if i+1 < len(line) && !strings.ContainsRune(" \"'*_)`!?.", rune(line[i+1])) {
				continue // within a word or a number
			}
			list = appendSentence(list, line[begin:i], line[i] == '?')
			begin = i + 1
		}
		list = appendSentence(list, line[begin:], false)
	}
	if len(list) > 2*maxSentences {
		list = append(list[:maxSentences:maxSentences], list[len(list)-maxSentences:]...)
	}
	return list
}

func appendSentence(list []sentence, text string, asked bool) []sentence {
	if text = normalize(text); text == "" {
		return list
	}
	return append(list, sentence{text, asked})
}

var contractions = strings.NewReplacer("cannot", "can not", "can't", "can not", "won't", "will not", "shan't", "shall not",
	"n't", " not", "w/o", "without", "anything but", "not", "i'm", "i am", "we're", "we are", "i'd", "i would", "we'd", "we would", "i'll", "i will", "we'll", "we will",
	"it's", "it is", "i've", "i have", "we've", "we have", " - ", " , ", " -- ", " , ", "...", " , ")

// normalize renders a text as lower-case words, with " , " between clauses.
func normalize(text string) string {
	text = contractions.Replace(strings.ToLower(strings.ReplaceAll(text, "’", "'")))
	var b strings.Builder
	b.Grow(len(text) + 16)
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '👍' || r == '👎' || r == '✅' || r == '❌' || r == '🔄':
			b.WriteRune(r)
		case r == ',' || r == ';' || r == ':' || r == '(' || r == ')' || r == '—' || r == '–' || r == '|':
			b.WriteString(" , ")
		case r == '\'' || r == '\ufe0f':
		default:
			b.WriteByte(' ')
		}
	}
	fields := strings.Fields(b.String())
	kept := fields[:0]
	for _, word := range fields {
		if word == "," && (len(kept) == 0 || kept[len(kept)-1] == ",") {
			continue
		}
		if word == "👍" || word == "👎" || word == "✅" || word == "❌" || word == "🔄" {
			if len(fields) > 1 {
				continue // beside words it decorates; alone it speaks
			}
		}
		kept = append(kept, word)
	}
	if n := len(kept); n > 0 && kept[n-1] == "," {
		kept = kept[:n-1]
	}
	return strings.Join(kept, " ")
}

const (
	yesVerbs = `approve|approved|lgtm|accept|accepted|endorse|endorsed`
	noVerbs  = `reject|rejected|disapprove|disapproved|deny|denied|decline|declined|veto|vetoed|refuse|refused`
	between  = `(?: (?:do|does|did|not|never|can|will|would|could|might|may|shall|should|must|hereby|therefore|thus|also|fully|strongly|formally|` +
		`gladly|happily|have|has|had|to|am|are|is|be|happy|glad|pleased|going|recommend|suggest|inclined|want|unable|decided|choose|chose|vote|` +
		`voting|conditionally|partially|still|now|only|no|reason|way|longer|refuse|hesitate|in|good|conscience|simply|just|and|objections?|concerns|,)){0,8}`
	subject = `(?:this|it|change|changes|pr|request|work|plan|proposal|design|submission|implementation|code|patch|document|draft|result|solution|subject|deliverable|version)`
)

var (
	// looseYes and the like find the words anywhere: in values that are verdicts.
	looseYes    = expression(`\b(?:` + yesVerbs + `|approves|accepts|` + yesPhrases + `|looks? good|ship it|good to (?:go|merge)|ready to (?:merge|ship)|sign(?:ed)? off)\b`)
	looseRevise = expression(`\b(?:revise|revision|revisions|rework|redo|resubmit|incomplete|` + revisePhrases + `)\b`)
	looseNo     = expression(`\b(?:` + noVerbs + `|rejects|rejection|denial|block|blocked|failed|` + rejectPhrases + `)\b`)

	// firmYes and the like find them only where they speak of the verdict and not of the subject: at the beginning,
	// after I and we, said of the work, or as a fixed phrase. The verdict is the first group that is not empty.
	firmYes = firm(yesVerbs, `looks? (?:all )?good to me|good to (?:go|merge)|ready to (?:merge|ship)|ship it|lgtm|`+
		`(?:signed|signing|sign) off|`+yesPhrases)
	firmNo     = firm(noVerbs, rejectPhrases+`|approval (?:is )?(?:denied|withheld|refused)`)
	firmRevise = firm(`revise|rework`, revisePhrases)

	negation    = expression(`\b(?:not|never|neither|nor|unable|refuse|refuses|refusing|decline to|non|hardly|nobody|avoid|against|hesitate|far from)\b`)
	softNo      = expression(`\b(?:no|none|nothing|without)\b`)
	conjunction = expression(`\b(?:and|so|therefore|thus|hence|because)\b`)
	openNot     = expression(`\b(?:not|never) ,`)
	notAfter    = expression(`^(?: ,)? (?:not|never|false|denied|withheld|refused|pending|none|nothing|neither|nobody|\d+)\b|^(?: ,)? no$|` +
		`^ (?:by|on|changes|items|files|list|date)\b`)
	maybe = expression(`\b(?:would|could|might|may|please|whether|almost|nearly|partially|partly|conditional|conditionally|before|pre|` +
		`(?:needs?|has|have|must|should|waiting|yet|still)(?: to)? be|to be)\b`)
	condition = expression(`\b(?:if|once|unless|until|provided|assuming|pending|subject to|contingent|conditional|conditionally|conditions?|` +
		`with (?:\w+ )?(?:reservations?|caveats?)|tentative|tentatively|provisional|provisionally|preliminary|preliminarily|in principle|` +
		`only (?:after|when|with))\b`)
	conditional = expression(`(?:^|, )(?:but |and |only |as long as |except )*(?:if|once|unless|until|provided|assuming|pending|subject to|as long as|contingent|except)\b`)
	fixAfter    = expression(`\b(?:after|when)(?: \w+){0,3} (?:fix\w*|chang\w+|revis\w+|address\w*|resolv\w+|correct\w*|updat\w+)\b`)
	turn        = expression(`\b(?:but|however|except|although|though)\b`)
	turning     = expression(`^(?:but|however|unfortunately|that said)\b`)
	choice      = expression(`\bone of\b.*\bapproved?\b.*\breject(?:ed)?\b`) // the question, repeated
	softYes     = expression(`good|ship|ready|sign`)
)

const (
	some          = `(?: (?:some|more|further|a|an|few|minor|major|additional|significant|substantial|the|these|following|several))*`
	revisePhrases = `(?:needs?|requires?|required|wants?)` + some + ` (?:work|changes?|revisions?|rework|improvements?|fix(?:es|ing)?|modifications?|corrections?|revising)|` +
		`request(?:s|ed|ing)?` + some + ` (?:changes?|revisions?)|` +
		`(?:changes?|revisions?|modifications?|fixes)(?: are| is| were)? (?:requested|required|needed|necessary)|` +
		`not (?:yet )?ready|(?:send|sending|sent)(?: \w+)? back|(?:with|after|minor|major) (?:minor |major )?(?:changes|revisions|modifications|corrections)|` +
		`(?:must|should|has to|have to|needs to) be (?:fixed|revised|reworked|corrected|changed|addressed)`
	rejectPhrases = `do not (?:merge|ship)|not acceptable|unacceptable|thumbs down|recommend(?:s|ed|ing)? (?:rejecting|rejection|against)`
	yesPhrases    = `approval (?:is )?(?:granted|given)|(?:grant|give)(?: my| full)? approval|recommend(?:s|ed|ing)? (?:approval|approving|accepting|merging)`
)

// expression compiles a regular expression when it is needed first: most processes, all commands of the CLI among them, read no
// verdict, and these take milliseconds and megabytes.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// firm returns an expression of where the verbs or the phrases speak of the verdict.
func firm(verbs, phrases string) func() *regexp.Regexp {
	return expression(`(?:^|, )(?:(?:verdict|decision|final|overall|therefore|so|ok|yes|no|not|never|hereby|conditionally|partially|fully|non|` +
		`pr|plan|design|changes|status|result|also|and|then|please|is|are|all|almost) |, ){0,3}(` + verbs + `)\b` +
		`|\b(?:i|we)` + between + ` (` + verbs + `)\b` +
		`|\b` + subject + `(?: \w+){0,3}? (?:is|are|was|been|be|stands|gets)(?: (?:not|never|hereby|now|fully|therefore|conditionally|partially|almost))* (` + verbs + `)\b` +
		`|\b(` + phrases + `)\b`)
}

// readProse reads plain words: each sentence that speaks of the verdict counts.
func readProse(text string) signals {
	var all signals
	onlySoft, turned := true, false
	for _, s := range sentences(text) {
		found := phraseSignals(s, true)
		if found&saysApprove != 0 && !softYes().MatchString(s.text) {
			onlySoft = false
		}
		turned = turned || turning().MatchString(s.text)
		all |= found
	}
	if all&saysApprove != 0 && onlySoft && turned {
		all |= saysUnclear // "Looks good. However, ..."
	}
	return all
}

// phraseSignals reads one sentence. firm sentences count only where they speak of the verdict.
func phraseSignals(s sentence, isFirm bool) signals {
	if s.asked || choice().MatchString(s.text) {
		return 0
	}
	yes, no, revise := looseYes, looseNo, looseRevise
	if short := strings.Count(s.text, " ") < 3; isFirm && !short {
		yes, no, revise = firmYes, firmNo, firmRevise
	}
	var all signals
	for _, at := range spans(revise, s.text) {
		if !negated(s.text[:at[0]]) {
			all |= saysRevise
		}
	}
	for _, at := range spans(no, s.text) {
		if !negated(s.text[:at[0]]) {
			all |= saysReject
		}
	}
	for _, at := range spans(yes, s.text) {
		all |= approval(s.text, at[0], at[1])
	}
	return all
}

// spans finds where the words of a verdict are.
func spans(pattern func() *regexp.Regexp, text string) [][2]int {
	var list [][2]int
	for _, m := range pattern().FindAllStringSubmatchIndex(text, 8) {
		span := [2]int{m[0], m[1]}
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				span = [2]int{m[g], m[g+1]}
				break
			}
		}
		list = append(list, span)
	}
	return list
}

// negated reports whether what comes after prefix is denied by it.
func negated(prefix string) bool {
	if openNot().MatchString(prefix) {
		return true
	}
	clause := prefix[strings.LastIndex(prefix, " , ")+1:]
	if i := strings.LastIndex(clause, " but "); i >= 0 {
		clause = clause[i:]
	}
	return negation().MatchString(clause) || softNo().MatchString(clause)
}

// approval returns what an approving word at a place of a sentence comes to.
func approval(text string, begin, end int) signals {
	prefix, suffix := text[:begin], text[end:]
	from := strings.LastIndex(prefix, " , ") + 1
	clause := prefix[from:]
	if i := strings.LastIndex(clause, " but "); i >= 0 {
		clause = clause[i:]
	}
	if openNot().MatchString(prefix) {
		return saysNot
	}
	if at := negation().FindStringIndex(clause); len(at) > 0 {
		if conjunction().MatchString(clause[at[1]:]) {
			return saysUnclear // "I did not find problems and approve"
		}
		return saysNot
	}
	if at := softNo().FindStringIndex(clause); len(at) > 0 && !conjunction().MatchString(clause[at[1]:]) {
		return saysNot
	}
	whole := text[from:]
	if next := strings.Index(whole, " , "); next >= 0 && from+next >= end {
		whole = whole[:next]
	}
	switch {
	case notAfter().MatchString(suffix), maybe().MatchString(clause), condition().MatchString(whole), conditional().MatchString(text),
		fixAfter().MatchString(suffix):
		return saysUnclear
	case turn().MatchString(suffix) && softYes().MatchString(text[begin:end]):
		return saysUnclear // "looks good but ..."
	}
	return saysApprove
}
