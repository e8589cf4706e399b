package metrics

import "testing"

func TestRetries(t *testing.T) {
	var none *Retries
	client, server := &Retries{Connections: 3, Calls: 12, First: "EOF"}, &Retries{Remembered: 7}
	if sum := none.Add(nil); sum != nil {
		t.Errorf("nothing and nothing is %v", sum)
	}
	const want = "3 connections broke: 12 calls were sent again, 7 answered from memory; the first connection: EOF"
	if got := none.Add(client).Add(server).String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := server.Add(client).String(); got != want {
		t.Errorf("%q in the other order, want %q", got, want)
	}
	if got, want := (&Retries{Connections: 1, Calls: 1}).String(), "1 connection broke: 1 call was sent again, 0 answered from memory"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
