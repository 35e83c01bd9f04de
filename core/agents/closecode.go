package agents

import "github.com/gorilla/websocket"

// Close codes the server uses. docs/agent-protocol.md tells agents what to do on each.
const (
	closeNormal       = websocket.CloseNormalClosure  // the answer to disconnect or to a close frame
	closeRestart      = websocket.CloseServiceRestart // the server stops; come back and resume
	closeTooBig       = websocket.CloseMessageTooBig  // a frame above the limit
	closeTryAgain     = websocket.CloseTryAgainLater  // slow reader, or the server cannot store; resume
	closeRefused      = 4400                          // bad registration, or too many bad frames
	closeDisconnected = 4403                          // an operator disconnected the agent
	closeTimeout      = 4408                          // no register frame in time, or missed heartbeats
	closeResumed      = 4409                          // another connection resumed this session
	closeFlood        = 4429                          // too many messages for too long
	maxBadFrames      = 100                           // in a row; then the session is closed
)
