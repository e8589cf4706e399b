package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"kvlab/kvs"
)

// TestBodyCheckFindsEveryFlippedBit sends a frame with a body check, one bit of
// the body changed on its way.
func TestBodyCheckFindsEveryFlippedBit(t *testing.T) {
	var batch kvs.Batch
	batch.Append(kvs.Put, []byte("key"), []byte("value"))
	sent := frameOnWire(t, true, &batch)
	for bit := range 8 * batch.Size() {
		frame := bytes.Clone(sent)
		frame[headerLen+bit/8] ^= 1 << (bit % 8)
		if err := readFrame(true, frame); !errors.Is(err, errFrame) {
			t.Fatalf("bit %d flipped: error %v, want errFrame", bit, err)
		}
	}
	if err := readFrame(true, sent); err != nil {
		t.Errorf("as it was sent: %v", err)
	}
}

// TestBodyCheckIsAgreed holds frames against what the handshake said of them.
func TestBodyCheckIsAgreed(t *testing.T) {
	for _, crc := range []bool{false, true} {
		if err := readFrame(!crc, frameOnWire(t, crc, new(kvs.Batch))); !errors.Is(err, errFrame) {
			t.Errorf("a frame with check %t where %t was agreed: error %v, want errFrame", crc, !crc, err)
		}
	}
}

// frameOnWire returns what a connection writes for a batch.
func frameOnWire(t *testing.T, crc bool, batch *kvs.Batch) []byte {
	t.Helper()
	near, far := net.Pipe()
	conn := newBinaryConn(near, crc)
	go func() {
		_ = conn.write(header{kind: requestFrame, count: uint32(batch.Len())}, batch.Frame())
		near.Close()
	}()
	frame, err := io.ReadAll(far)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// readFrame reads one frame and its body.
func readFrame(crc bool, frame []byte) error {
	near, far := net.Pipe()
	defer far.Close()
	go func() { _, _ = near.Write(frame) }()
	conn := newBinaryConn(far, crc)
	if err := conn.readHeader(requestFrame); err != nil {
		return err
	}
	return conn.readBody(make([]byte, conn.next.size))
}
