package verdict

import "regexp"

// Advice says, for who wrote a store, what the reason of an INVALID verdict means and what
// to do about it, in sentences.
func Advice(reason string) string {
	for _, row := range advices {
		if row.reason.MatchString(reason) {
			return row.text
		}
	}
	return "A check of the measurement failed. docs/measuring.md explains each check. Measure the same work in your own checkout. If that run is VALID, tell the instructor."
}

// advices are Advice's rows. The first that matches counts.
var advices = []struct {
	reason *regexp.Regexp
	text   string
}{
	{regexp.MustCompile(`cannot be reached|cannot be started|is taken by|are free in|the logs cannot be written|interrupted`),
		"This is about the machine and not about your store. Tell the instructor, who can measure again."},
	{regexp.MustCompile(`died of|connection was lost|memory is full|left before its work|restarted`),
		"Your server ended before the run did: it crashed, or the system ended it because it needed more memory, processes or files than it may have. Its last lines say which. Run the same work until the server survives it. Look for a panic, for concurrent map writes, and for memory that grows."},
	{regexp.MustCompile(`has sent nothing|sent no summary|was not .* yet`),
		"Your server did not answer any more, or never became ready. Look for a deadlock, for a loop without an end, and for an operation that waits for another client."},
	{regexp.MustCompile(`of memory, and the limit`),
		"Your servers took more memory than the class allows. Look at what is stored for each key beside its value, at buffers for each connection, and at old versions that are kept."},
	{regexp.MustCompile(`which the class does not allow`),
		"The trial was VALID, but with a reservation that the class does not accept. If your store causes it, as when it closes connections, change that. Else tell the instructor."},
	{regexp.MustCompile(`no reply within|-call-timeout`),
		"A call had no reply in time. Look for a lock that is not released, for a reply that is never sent, and for work that grows with the number of keys."},
	{regexp.MustCompile(`not linearizable`),
		"A read returned a value that no order of the operations explains, for example one that a later write had replaced already. Look for caches, for reads beside the lock, and for replies that are sent before the write is done."},
	{regexp.MustCompile(`the audit found`),
		"After the run, a key did not have the last value that your server had acknowledged. A write may be acknowledged only when it is done. Look for writes that are dropped, or overtaken by an older one."},
	{regexp.MustCompile(`scan of|a scan asks`),
		"A scan must return the keys in order, each once, and none may be missing. Look at where a scan begins, at its limit, and at writes while it runs."},
	{regexp.MustCompile(`failed verification|a value of|values were not checked|can be compressed|sampled values`),
		"A value was not the one that was written under its key. Look for buffers that are used again while a reply still needs them, for races between reads and writes, and for values that are cut or made up."},
	{regexp.MustCompile(`misses in the window|keys are left|store was not full|operations went to servers`),
		"Keys that were stored could not be found. Look for eviction, for expiry, for a table of fixed size, for deletes of other keys, and for servers that mix up whose keys they have."},
	{regexp.MustCompile(`the client verified|the store executed|the store found|the store's|the servers applied|server applied`),
		"Your servers' counts and those of the clients differ: an operation was executed twice, or was answered without being executed. Look at what is counted and when, and at operations of a batch that are skipped."},
	{regexp.MustCompile(`TOO SHORT|BACKLOG`),
		"Your store is so slow that most of the window passes in a few calls. Find out where the time goes, for example with -cpuprofile, before you measure again."},
}
