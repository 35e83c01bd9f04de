package classifier

import "regexp"

// rules scores phrases: what people do and want, rather than the nouns they use.
type rules struct {
	rules []rule
}

type rule struct {
	category Category
	weight   float64
	name     string // the cue that is shown
	pattern  *regexp.Regexp
}

func newRules() *rules {
	r := &rules{}
	for _, d := range ruleDefinitions {
		r.rules = append(r.rules, rule{d.category, d.weight, d.name, regexp.MustCompile(`(?i)` + d.pattern)})
	}
	return r
}

// Classify implements Classifier.
func (r *rules) Classify(text string) Verdict {
	s := newScores()
	for _, rule := range r.rules {
		if rule.pattern.MatchString(text) {
			s.add(rule.category, rule.weight, rule.name)
		}
	}
	return s.verdict(Feedback)
}

var ruleDefinitions = []struct {
	category Category
	weight   float64
	name     string
	pattern  string
}{
	{Billing, 2.5, "charged", `\b(over)?(charged?|billed|debited|invoiced)\b`},
	{Billing, 2, "an amount of money", `\b\d+([.,]\d\d)? ?(euros?|dollars?|bucks|pounds|€|\$)|[$€£] ?\d`},
	{Billing, 2, "money back", `\b(refund|reimburse|money back|credited|reverse[d]?|waive)`},
	{Billing, 2, "invoice or receipt", `\b(invoices?|receipts?|bills?|statement|payment reminder|purchase order)\b`},
	{Billing, 2, "way of paying", `\b(bank transfer|direct debit|credit card|debit card|sepa|iban|pay(ing)? (by|with|for))\b`},
	{Billing, 1.5, "plan and price", `\b(prices?|pric(ing|ey)|discount|promo|coupon|quote|fees?|per (user|seat|month)|downgrad|upgrad|vat|tax|trial)\b`},
	{Billing, 1.5, "stop paying", `\b(cancel(l?ed)?|subscription|renewal|renew)\b`},

	{Technical, 2.5, "a crash or an error", `\b(crash(es|ed|ing)?|error|exception|bug|5\d\d|4(00|03|04|29)s?|freez\w+|hangs?)\b`},
	{Technical, 2, "does not work", `\b(doesn'?t|don'?t|won'?t|not|stopped|no longer|never) (work|load|open|sync|respond|fire|show|verify|understand|shows|find)\w*`},
	{Technical, 2, "for developers", `\b(api|webhooks?|endpoint|proxy|console|cors|scim|integration|request ids?|log files?|certificate)\b`},
	{Technical, 1.5, "since an update", `\b(since|after|with) (the|an|last|your|version|this)? ?(\w+ )?(update|upgrade|migration|release|firmware|version|morning)\b`},
	{Technical, 1.5, "a device or browser", `\b(android|ios|iphone|mac(os)?|windows|firefox|safari|chrome|browsers?|pixel|bluetooth|firmware|laptop|printer)\b`},
	{Technical, 1.5, "a function fails", `\b(export|import|upload|download|sync|search|print(ing)?|install(er|ing)?|autosave|attachments?|copying)\b.{0,40}\b(fail|cut|stop|lost|los[et]|empty|nothing|missing|wrong|broken?|hang|only)`},
	{Technical, 1, "how to", `\b(how (can|do) (i|we)|is there a way to|does your|where do i find)\b.{0,40}\b(run|import|export|configure|api|file|filter|connect)`},
	{Technical, 1.5, "slow or blank", `\b(slow(ly)?|blank|white page|stays white|spinner|empty screen|memory|undefined)\b`},

	{Account, 2.5, "sign-in", `\b(log(ging|ged)?[- ]?(me |us )?(in|out)|sign(ed|ing)?[- ]?(in|up|out)|login|password|passkey|captcha|locked out|two-?(step|factor)|authenticator|backup codes?)\b`},
	{Account, 2, "a profile", `\b(profile|user ?name|my handle|my account|accounts|verification|verify my|identity)\b`},
	{Account, 2, "people and rights", `\b(admins?|permissions?|roles?|invit(e|ation)|ownership|owner|workspace|organi[sz]ations?|access to|has access|members?|new employee)\b`},
	{Account, 2, "personal data", `\b(gdpr|personal data|delete (my|all)|erase|what data|unsubscribe me|name off your list)\b`},
	{Account, 1.5, "change who I am", `\b(change|update|rename|replace|merge|transfer|reactivate|deactivat\w+)\b.{0,30}\b(name|address i sign|e-?mail|number|birthday|subdomain|profile|owner\w*)`},
	{Account, 1, "somebody else", `\b(someone|somebody|stranger|ex-colleague|wasn'?t me|suspended|unusual activity)\b`},

	{Shipping, 2.5, "a parcel", `\b(parcels?|packages?|shipment|pallet|consignment|deliver(y|ies|ed)|couriers?|carrier|tracking)\b`},
	{Shipping, 2, "it arrived wrong", `\b(arrived|sent me|you sent|received|came|got)\b.{0,40}\b(broken|damaged|open|wrong|pieces|somebody else|instead|frozen|warm|soaked|missing|beige)`},
	{Shipping, 2, "sending back", `\b(send (it |the \w+ )?back|return(s|ed)? (label|was|the)|my return|swap|exchange|replacement|pick-?up)\b`},
	{Shipping, 2, "where is it", `\b(where is (my|it)|on its way|in transit|dispatched|left your warehouse|out for delivery|collect(ion|ed)?|express|customs)\b`},
	{Shipping, 1, "an order", `\b(my order|the order|ordered|an order|orders|in stock|box(es)?|driver|at the door)\b`},

	{Feedback, 2.5, "praise", `\b(love|thank(s| you)|well done|great (work|job)|joy|excellent|brilliant|best|impressed|wonderful|compliments?|adore|smoothest|exemplary|nice touch|recommend)\b`},
	{Feedback, 2, "a wish", `\b(it would be|would be (great|cool|nice)|i wish|suggestion|feature request|idea|have you (ever )?(thought|considered)|please (add|bring back|consider)|you should|could (you|the \w+) (make|slow|remember)|i'?d pay)\b`},
	{Feedback, 2, "displeasure", `\b(hate|disappointed|worse|awful|annoying|nag(ging)?|desperate|i don'?t like|too many|unfriendly|i'?ll scream|i miss)\b`},
	{Feedback, 1.5, "only saying", `\b(just (a|wanted)|not a complaint|only a suggestion|honestly|just a thought|not sure whom)\b`},
}
