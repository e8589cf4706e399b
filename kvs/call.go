package kvs

// Call is a batch for a server and its reply. It belongs to the sending client until the
// reply has arrived, and may then be reused.
type Call struct {
	Batch *Batch
	Reply *Reply
	Err   error // set when the call is done; not nil: the batch's effect is unknown
	State any   // the client's, made once

	// Sent and Received are the bytes of the two bodies on the wire, if the connection sends
	// them in another form than Batch and Reply have; else 0.
	Sent, Received int
}
