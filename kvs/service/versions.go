package service

import (
	"sync"

	"kvlab/kvs"
)

// compactChunk is what a chunk of a compact batch is decoded to.
type compactChunk struct {
	cursor kvs.CompactOps
	ops    [chunk]kvs.Op
	held   [chunk]kvs.Version
}

var compactChunks = sync.Pool{New: func() any { return new(compactChunk) }}

// applyCompact applies a compact batch, and gives the reply versions.
func (a *account) applyCompact(batch *kvs.Batch, reply *kvs.Reply) error {
	reply.AddVersions()
	defer reply.EndVersions()
	c := compactChunks.Get().(*compactChunk)
	defer compactChunks.Put(c)
	for c.cursor.Read(batch); ; {
		n, err := c.cursor.Next(c.ops[:], c.held[:])
		if n > 0 {
			reply.Hold(c.held[:n])
			if tooLarge := a.apply(c.ops[:n], reply); err == nil {
				err = tooLarge
			}
		}
		if err != nil || n < chunk {
			return err
		}
	}
}
