package service

import (
	"errors"
	"fmt"

	"kvlab/kvs"
)

// replyCache holds a session's last replies. Only the session's current connection
// uses it.
type replyCache struct {
	holder     *Conn  // nil without a connection; guarded by Service.mu, as are the next two
	last       *Conn  // the previous holder
	connection uint64 // the highest number so far

	window  int
	first   uint64        // the session's first call
	next    uint64        // the next call to apply; calls first to next-1 are applied
	replies []cachedReply // of the last window calls, by number - first; grows up to window
}

type cachedReply struct {
	reply kvs.Reply
	err   error
}

// Answer applies call number of a session once. A call that was applied before gets its
// first reply again, and its batch is ignored. Without a session Answer does what
// BatchPutGet does. Only one goroutine may call it.
//
// The session owns the reply's memory until the reply is Freed or Reset. After
// ErrSuperseded and ErrNotDurable the connection must be closed without an answer.
func (c *Conn) Answer(number uint64, batch *kvs.Batch, reply *kvs.Reply) error {
	cache := c.cache
	if cache == nil {
		return c.BatchPutGet(batch, reply)
	}
	switch {
	case c.Superseded():
		return ErrSuperseded
	case number > cache.next:
		return fmt.Errorf("call %d of a session, but call %d is next: calls are missing", number, cache.next)
	case number < cache.first || cache.next-number > uint64(cache.window):
		return fmt.Errorf("call %d of a session again: only the last %d replies before call %d are cached", number, cache.window, cache.next)
	case number < cache.next:
		c.service.hits.Add(1)
		cached := cache.reply(number)
		reply.Borrow(&cached.reply)
		return cached.err
	}
	cached := cache.reply(number)
	cached.reply.Free()
	*reply, cached.reply = cached.reply, kvs.Reply{} // the call reuses the memory
	cached.err = c.BatchPutGet(batch, reply)
	if errors.Is(cached.err, ErrNotDurable) {
		return cached.err
	}
	cached.reply = *reply
	reply.Borrowed = true
	cache.next++
	return cached.err
}

// Refuse records a call that is not applied, and reports whether to tell the client
// why. In a session, only a permanent reason is an answer: the client sends a call
// that arrived damaged again.
func (c *Conn) Refuse(number uint64, why error, permanent bool) (tell bool) {
	cache := c.cache
	if cache == nil {
		return true
	}
	if permanent && number == cache.next {
		cached := cache.reply(number)
		cached.reply.Free()
		cached.err = why
		cache.next++
	}
	return permanent
}

// reply returns the cache entry of a call.
func (r *replyCache) reply(number uint64) *cachedReply {
	i := int((number - r.first) % uint64(r.window))
	if i == len(r.replies) {
		r.replies = append(r.replies, cachedReply{})
	}
	return &r.replies[i]
}

// drop frees the replies.
func (r *replyCache) drop() {
	for i := range r.replies {
		r.replies[i].reply.Free()
	}
	r.replies = nil
}
