package memory

// This file says when the memory of a dead tensor may be handed out again. A kernel
// works on slices, which keep the memory from the system but not its Storage from
// the collector: an argument that nobody reads after the call is dead while its
// kernel runs. So a block waits until all kernels have ended that had begun when its
// Storage died (epoch-based reclamation, Fraser 2004, with two generations).

// epochs are two generations of running kernels; under the allocator's lock.
type epochs struct {
	now     int         // kernels that begin belong to it
	running [2]int      // kernels of now and of the one before, by the lowest bit
	waiting [2][][]byte // blocks that died in them
}

// Begin notes that a kernel begins, whose memory stays where it is until End
// gets what this returns.
func Begin() int { return blocks.begin() }

// End notes that a kernel has ended.
func End(e int) { blocks.end(e) }

// begin notes that a kernel begins; what it returns goes to end.
func (a *allocator) begin() int {
	a.mu.Lock()
	e := a.epochs.now
	a.epochs.running[e&1]++
	a.mu.Unlock()
	return e
}

// end notes that a kernel of epoch e has ended.
func (a *allocator) end(e int) {
	a.mu.Lock()
	a.epochs.running[e&1]--
	a.settle()
	a.mu.Unlock()
}

// retire is the cleanup of a dead Storage.
func (a *allocator) retire(block []byte) {
	a.mu.Lock()
	at := a.epochs.now & 1
	a.epochs.waiting[at] = append(a.epochs.waiting[at], block)
	a.settle()
	a.mu.Unlock()
}

// settle frees the blocks that died in the epoch before, when its kernels have
// ended: all that runs has begun later. Then a new epoch begins.
func (a *allocator) settle() {
	es := &a.epochs
	for range es.waiting {
		before := (es.now + 1) & 1
		if es.running[before] > 0 {
			return
		}
		for _, b := range es.waiting[before] {
			a.giveFree(b)
		}
		clear(es.waiting[before])
		es.waiting[before] = es.waiting[before][:0]
		es.now++
	}
}
