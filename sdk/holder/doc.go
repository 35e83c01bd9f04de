// Package holder is the runtime's side of the process that holds an agent's terminal: it starts that process and
// talks to it. A Client is an agentcli.Process but for what only the launcher knows (where the process is and
// how to find it again), so a launcher wraps one: the local runtime over a socket in its run directory, others
// over whatever reaches the holder in a container or a pod.
//
// It owns the connection, its requests, the output stream and the hook calls. It does not own the protocol
// (sdk/holder/wire), the holding process (sdk/holder/keeper, built as plugins/holder), nor rooms, limits and
// clean-up, which are the launcher's.
package holder
