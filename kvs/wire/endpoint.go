package wire

import (
	"net/rpc"

	"kvlab/kvs"
)

// endpoint is what net/rpc calls for one connection. net/rpc makes a new argument
// and a new reply for every call; these have no size, which takes no memory, and
// the true ones, of the one call that is under way at a time, lie here.
type endpoint struct {
	session *kvs.Session
	batch   kvs.Batch
	reply   kvs.Reply
}

// BatchPutGet is kvs.Session's, on the batch that the codec has read.
func (e *endpoint) BatchPutGet(*struct{}, *struct{}) error {
	return e.session.BatchPutGet(&e.batch, &e.reply)
}

// watched gives a codec the endpoint's batch and reply, and remembers its first
// error: net/rpc logs some, drops others, and passes none on as it was. After
// one, the connection is over.
type watched struct {
	serverCodec
	call *endpoint
	err  error
}

func (w *watched) ReadRequestHeader(r *rpc.Request) error {
	return w.note(w.serverCodec.ReadRequestHeader(r))
}

func (w *watched) ReadRequestBody(body any) error {
	if body != nil { // else the call is of a method that does not exist
		body = &w.call.batch
	}
	return w.note(w.serverCodec.ReadRequestBody(body))
}

func (w *watched) WriteResponse(r *rpc.Response, body any) error {
	if r.Error == "" {
		body = &w.call.reply
	}
	return w.note(w.serverCodec.WriteResponse(r, body))
}

func (w *watched) note(err error) error {
	if w.err == nil {
		w.err = err
	}
	return err
}
