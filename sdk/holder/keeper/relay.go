package keeper

import (
	"bytes"
	"io"
	"time"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// relay hands what in holds to the holder, and its answer to out. Whatever fails, fails silently: the CLI goes on
// as if there were no hook.
func relay(socket, name string, in io.Reader, out io.Writer) {
	payload, err := io.ReadAll(io.LimitReader(in, wire.MaxPayload+1))
	if err != nil {
		return
	}
	if len(payload) > wire.MaxPayload {
		// A tool was given, or gave, a whole file. The runtime has to know of the call all the same: the CLI may be
		// about to wait for an approval.
		short := shortener{most: longString}
		if _, err := io.Copy(&short, io.LimitReader(io.MultiReader(bytes.NewReader(payload), in), maxPipe)); err != nil {
			return
		}
		payload = short.out
	}
	conn, err := dialSock(socket, helloTime)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetWriteDeadline(time.Now().Add(hookTime))
	hello := wire.Hello{Min: wire.MinVersion, Max: wire.Version, Role: wire.RoleHook}
	if wire.Write(conn, hello) != nil {
		return
	}
	if wire.Write(conn, wire.HookCall{What: wire.KindHookRequest, Name: name, Payload: payload}) != nil {
		return
	}
	kind, body, err := wire.NewReader(conn).Next()
	if err != nil || kind != wire.KindHookReply {
		return
	}
	if answer, err := wire.ParseHookAnswer(kind, body); err == nil {
		_, _ = out.Write(answer.Body)
	}
}
