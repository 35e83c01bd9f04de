package classifier

import "strings"

// lexicon scores single words: each carries a weight for one category.
type lexicon struct {
	words map[string]entry // by stem
}

type entry struct {
	category Category
	weight   float64
}

// lexiconWords holds the words of each category, strong ones apart from weak ones.
var lexiconWords = map[Category]struct{ strong, weak string }{
	Billing: {
		strong: `invoice invoices billing billed bill charge charged charges refund refunded refunds payment payments receipt
			subscription debit debited vat tax discount prorated proration reimburse reimbursed overcharged iban sepa`,
		weak: `price pricing paid pay paying money bank card credit cost costs fee fees plan annual monthly euros dollars
			bucks total renewal coupon promo trial balance quote statement amount currency`,
	},
	Technical: {
		strong: `crash crashes crashed error errors bug api webhook webhooks firmware sync syncing install installer browser
			console server timeout upload freeze freezes integration plugin exception certificate endpoint csv`,
		weak: `update version app page screen click button load loading slow broken export import file files data
			notification notifications android iphone ios windows safari firefox chrome device print log logs
			connect connecting stopped works fails search memory`,
	},
	Account: {
		strong: `login password username profile account accounts authenticator verification signin sso deactivated passkey
			handle captcha locked suspended permissions admin role invitation registered`,
		weak: `log sign email access user users team member workspace identity code codes phone name delete register
			registering private security gdpr personal owner ownership organisation`,
	},
	Shipping: {
		strong: `parcel package tracking courier delivery delivered shipment shipping carrier warehouse customs dispatched
			packing consignment pallet postage`,
		weak: `order ordered arrived box return label address driver damaged wrong missing item size transit
			collect neighbour door express broken received send sent stock exchange pickup`,
	},
	Feedback: {
		strong: `love thank thanks great suggestion feature wish recommend compliments disappointed idea joy wonderful
			awful brilliant excellent impressed`,
		weak: `nice please better worse hate like best design would could cool miss happy fun perfect honest
			lovely annoying consider bring colours font music bit`,
	},
}

func newLexicon() *lexicon {
	l := &lexicon{words: make(map[string]entry)}
	for _, c := range Categories {
		for _, w := range strings.Fields(lexiconWords[c].weak) {
			l.words[stem(w)] = entry{c, 0.6}
		}
	}
	for _, c := range Categories { // a strong word of one category beats a weak one of another
		for _, w := range strings.Fields(lexiconWords[c].strong) {
			l.words[stem(w)] = entry{c, 1.5}
		}
	}
	return l
}

// Classify implements Classifier.
func (l *lexicon) Classify(text string) Verdict {
	s := newScores()
	seen := make(map[string]bool)
	for _, w := range tokens(text) {
		e, known := l.words[w]
		if !known {
			continue
		}
		weight := e.weight
		if seen[w] { // a word that is repeated says little more
			weight /= 3
		}
		seen[w] = true
		s.add(e.category, weight, w)
	}
	return s.verdict(Feedback)
}
