package aws

import (
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// maxAnswer bounds an answer: secrets have 64 KiB at most, and are longer as JSON.
const maxAnswer = 1 << 20

// bounded is a client whose answers are bounded.
type bounded struct{ client aws.HTTPClient }

func (b bounded) Do(r *http.Request) (*http.Response, error) {
	resp, err := b.client.Do(r)
	if err != nil {
		return resp, err
	}
	resp.Body = &body{resp.Body, maxAnswer}
	return resp, nil
}

var errTooLong = errors.New("the answer is too long")

// body fails behind its bound.
type body struct {
	io.ReadCloser
	left int
}

func (b *body) Read(p []byte) (int, error) {
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}
