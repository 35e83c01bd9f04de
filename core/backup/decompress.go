package backup

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// What an archive begins with, by its format.
const (
	s2Magic   = "\xff\x06\x00\x00S2sTwO"
	zstdMagic = "\x28\xb5\x2f\xfd" // of format 1
)

// decompress returns the tar in an archive; ErrForeign for what does not begin as one. The caller calls end once it has read enough.
func decompress(r io.Reader) (tarred io.Reader, end func(), err error) {
	in := bufio.NewReaderSize(r, 256<<10)
	begin, err := in.Peek(len(s2Magic))
	switch {
	case len(begin) == 0 && errors.Is(err, io.EOF):
		return nil, nil, errShort
	case bytes.HasPrefix(begin, []byte(s2Magic)):
		return s2.NewReader(in), func() {}, nil
	case !bytes.HasPrefix(begin, []byte(zstdMagic)):
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		return nil, nil, ErrForeign
	}
	unzipped, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return nil, nil, damaged(err)
	}
	return unzipped, unzipped.Close, nil
}
