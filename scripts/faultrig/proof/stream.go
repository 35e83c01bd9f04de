package proof

// streams checks that each reader saw each event of the journal exactly once, in order, up to the end.
func (p *prover) streams() {
	silent := &prover{Evidence: p.Evidence}
	for _, s := range p.Streams {
		if p.Executions[s.ExecutionID] == nil {
			p.report(RuleLost, s.ExecutionID, "its stream began (%d events) and it is not in the store", len(s.Frames))
			continue
		}
		if !s.Ended {
			p.report(RuleStream, s.ExecutionID, "the stream did not end, after %d events and %d resumes", len(s.Frames), s.Resumes)
			continue
		}
		var last uint64
		for _, f := range s.Frames {
			if f.Sequence <= last {
				p.report(RuleStream, s.ExecutionID, "event %d (%s) came after event %d, with %d resumes", f.Sequence, f.Type, last, s.Resumes)
			}
			last = f.Sequence
		}
		p.compare(s, silent.readJournal(s.ExecutionID).shown)
	}
}

// compare compares a stream with what the journal says it must show.
func (p *prover) compare(s Stream, want []Frame) {
	for i := range max(len(want), len(s.Frames)) {
		switch {
		case i >= len(s.Frames):
			p.report(RuleStream, s.ExecutionID, "event %d (%s) is missing, with %d resumes", want[i].Sequence, want[i].Type, s.Resumes)
		case i >= len(want):
			p.report(RuleStream, s.ExecutionID, "event %d (%s) is not in the journal", s.Frames[i].Sequence, s.Frames[i].Type)
		case s.Frames[i] != want[i]:
			p.report(RuleStream, s.ExecutionID, "event %d (%s) where the journal has %d (%s), with %d resumes",
				s.Frames[i].Sequence, s.Frames[i].Type, want[i].Sequence, want[i].Type, s.Resumes)
		default:
			continue
		}
		return
	}
}
