package agentcli

var _ Typist = host{}

// Type implements Typist: the steps follow what is being typed, and nothing else comes between them.
func (h host) Type(steps []Step) { h.s.typist.put(&typing{steps: steps}) }
