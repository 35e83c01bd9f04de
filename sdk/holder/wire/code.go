package wire

// Code says how a request ended.
type Code uint8

// Codes. Numbers are for ever.
const (
	CodeOK         Code = 0
	CodeVersion    Code = 1 // no common version
	CodeNonce      Code = 2 // another life, or another agent
	CodeSuperseded Code = 3 // a newer client took over
	CodeBadFrame   Code = 4 // what came cannot be understood
	CodeEnded      Code = 5 // the command has ended
	CodeCancelled  Code = 6 // the caller did not want it any more
	CodeBusy       Code = 7 // more at once than the holder keeps
	CodeInvalid    Code = 8 // an argument is out of range
	CodeLeft       Code = 9 // processes are left that cannot be killed
	CodeSystem     Code = 10
)

// Refused ends a connection with a reason.
type Refused struct {
	Code Code
	Text string
}

// Kind implements Message.
func (Refused) Kind() Kind { return KindRefused }

func (m Refused) append(b []byte) []byte { return putBytes(append(b, byte(m.Code)), m.Text) }

// ParseRefused reads a body of KindRefused.
func ParseRefused(body []byte) (Refused, error) {
	f := fields{b: body}
	m := Refused{Code: Code(f.u8()), Text: f.string()}
	return m, f.err
}

// Error implements error.
func (m Refused) Error() string { return "the holder refused: " + m.Text }
