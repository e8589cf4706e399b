package kvs

// Call is a batch for a server and the reply to come. It belongs to the client that
// sends it until the reply has come, and may be used again, one batch after another.
type Call struct {
	Batch *Batch
	Reply *Reply
	Err   error // set when the call is done; the batch's effect is unknown then
	State any   // the client's own, made once
}
