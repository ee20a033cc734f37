package app

import "testing"

// TestLargestMemory wants memory that was in use once to count.
func TestLargestMemory(t *testing.T) {
	block := make([]byte, 64<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	if n := largestMemory(); n < int64(len(block)) {
		t.Errorf("%d bytes, while %d are in use", n, len(block))
	}
	if block[0] != 1 {
		t.Error("the block is not in use")
	}
}
