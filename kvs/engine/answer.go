package engine

import "kvlab/kvs"

// answer appends the result of an operation before which its key had the value
// old, or none.
func answer(reply *kvs.Reply, kind kvs.Kind, old []byte, ok bool) {
	switch {
	case !kind.Reads():
		reply.Stored()
	case ok:
		reply.Found(old)
	default:
		reply.Missing()
	}
}
