package faultproxy

import (
	"math/rand/v2"
	"net"
	"slices"
	"time"
)

// passage carries the bytes of one direction past its faults.
type passage struct {
	from, to *net.TCPConn
	faults   []Fault // that have not happened, by At
	at       int64   // bytes passed on
	note     func(Fault)
	read     func(at int64) // what has been read in all, before it is passed on

	delay, jitter time.Duration
	rate          int    // bytes per second; 0 is no limit
	again         []byte // of a Duplicate that has begun
	missing       int    // bytes that again lacks
}

// carry passes bytes on until from ends. After a fault that ends the direction, or when
// to takes no more, it discards them: closing a connection with unread bytes resets it.
func (p *passage) carry() {
	buf := make([]byte, 32<<10)
	open, at := true, int64(0)
	for {
		n, err := p.from.Read(buf)
		if at += int64(n); n > 0 {
			p.read(at)
		}
		open = open && p.pass(buf[:n])
		if err != nil {
			break
		}
	}
	if !open {
		return
	}
	if p.missing > 0 {
		_, _ = p.to.Write(p.again)
	}
	p.to.CloseWrite()
}

// pass passes data on, which it may change, and reports whether the direction is open.
func (p *passage) pass(data []byte) bool {
	for len(p.faults) > 0 && p.faults[0].At < p.at+int64(len(data)) {
		f := p.faults[0]
		p.faults = p.faults[1:]
		n := f.At - p.at
		if !p.send(data[:n]) {
			return false
		}
		data = data[n:]
		p.note(f)
		switch f.Kind {
		case Delay:
			p.delay, p.jitter = f.Delay, f.Jitter
		case Throttle:
			p.rate = f.Rate
		case Flip:
			data[0] ^= 1 << f.Bit
		case Duplicate:
			p.missing, p.again = f.Len, nil
		case Cut:
			for _, conn := range []*net.TCPConn{p.from, p.to} {
				conn.SetLinger(0)
				conn.Close()
			}
			return false
		case Truncate:
			p.from.CloseWrite()
			p.to.CloseWrite()
			return false
		case BlackHole:
			return false
		}
	}
	return p.send(data)
}

// send sends data in which no fault begins, at its rate in pieces of a hundredth of a
// second, and reports whether to takes more.
func (p *passage) send(data []byte) bool {
	if len(data) == 0 {
		return true
	}
	p.at += int64(len(data))
	if p.missing > 0 {
		n := min(p.missing, len(data))
		p.again = append(p.again, data[:n]...)
		if p.missing -= n; p.missing == 0 {
			data = slices.Insert(slices.Clip(data), n, p.again...)
		}
	}
	time.Sleep(p.delay + time.Duration(rand.Float64()*float64(p.jitter)))
	size := len(data)
	if p.rate > 0 {
		size = max(1, p.rate/100)
	}
	for piece := range slices.Chunk(data, size) {
		if _, err := p.to.Write(piece); err != nil {
			return false
		}
		if p.rate > 0 {
			time.Sleep(time.Duration(len(piece)) * time.Second / time.Duration(p.rate))
		}
	}
	return true
}
