package server

import (
	"time"

	"kvlab/metrics"
	"kvlab/metrics/claim"
)

// claims are what the server of a team's system says of itself.
type claims struct {
	lines *claim.Reader // nil of a store that is driven
	begun time.Time
}

// readClaims begins to read the lines of a system's server.
func (h *host) readClaims() {
	server := h.config.System.Server
	if server == nil {
		return
	}
	h.claims = claims{lines: claim.NewReader(metrics.Server, server.Result), begun: time.Now()}
}

// readLine reads a line of the program's output.
func (h *host) readLine(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.claims.lines != nil {
		h.claims.lines.Add(line, time.Since(h.claims.begun))
	}
}

// claimed returns what the server's lines say until the clients have ended, and in a line after
// that; nil of a store that is driven.
func (h *host) claimed() *metrics.Claimed {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.claims.lines == nil {
		return nil
	}
	c := h.claims.lines.Claimed()
	c.Program, c.Commit, c.SHA256 = h.config.Target.Name, h.commit, h.binary
	deadline := time.Now().Add(afterwards)
	for c.Lines > 0 && time.Now().Before(deadline) {
		n, last := h.claims.lines.Lines()
		if n >= c.Lines+2 {
			c.After = last
			break
		}
		h.mu.Unlock()
		time.Sleep(betweenTrials)
		h.mu.Lock()
	}
	return &c
}

// afterwards is how long a server has for two more lines, of a second each. The first may be of a
// time in which the clients still ran.
const afterwards = 2500 * time.Millisecond
