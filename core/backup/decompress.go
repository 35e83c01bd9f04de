package backup

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// zstdMagic is the magic number at the start of an archive of format 1.
const zstdMagic = "\x28\xb5\x2f\xfd"

// decompress returns the tar in an archive. The caller calls end once it has read enough.
func decompress(r io.Reader) (tarred io.Reader, end func(), err error) {
	in := bufio.NewReaderSize(r, 256<<10)
	if begin, _ := in.Peek(len(zstdMagic)); string(begin) != zstdMagic {
		return s2.NewReader(in), func() {}, nil
	}
	unzipped, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return nil, nil, err
	}
	return unzipped, unzipped.Close, nil
}
