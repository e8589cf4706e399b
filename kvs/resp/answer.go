package resp

// Version is the protocol that a client has asked for with HELLO.
type Version int

const (
	RESP2 Version = 2 // the default
	RESP3 Version = 3
)

// AppendNull appends the reply for a missing value.
func AppendNull(dst []byte, v Version) []byte {
	if v == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "$-1\r\n"...)
}

// AppendMapHead appends the head of n pairs, which follow: in RESP2 an array of both.
func AppendMapHead(dst []byte, n int, v Version) []byte {
	if v == RESP3 {
		return AppendHead(dst, '%', int64(n))
	}
	return AppendHead(dst, Array, 2*int64(n))
}

// AppendLine appends a Simple or an Error. A line has no end of line in it: text gets
// spaces in place of them.
func AppendLine(dst []byte, kind byte, text string) []byte {
	dst = append(dst, kind)
	for i := range len(text) {
		if b := text[i]; b == '\r' || b == '\n' {
			dst = append(dst, ' ')
		} else {
			dst = append(dst, b)
		}
	}
	return append(dst, '\r', '\n')
}
