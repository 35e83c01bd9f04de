package agentcli

import "context"

// Retire removes what stopped long ago, as the runtime does by itself now and then.
func (r *Runtime) Retire(ctx context.Context) { r.retire(ctx) }
