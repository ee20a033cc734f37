package compiler

import (
	"fmt"
	"sync"
)

// Settings are the compiler's knobs, named as torch._dynamo.config names them. They
// hold for the calls of torch.Compile that follow; its own options go before them.
type Settings struct {
	// RecompileLimit is how many entries a frame may have before it runs eagerly
	// (kw.RecompileLimit).
	RecompileLimit int
	// AutomaticDynamicShapes makes a size that changes a symbol; without it every
	// size is a constant (kw.Dynamic(false)).
	AutomaticDynamicShapes bool
	// AssumeStaticByDefault compiles sizes as constants first; without it they are
	// symbols at once (kw.Dynamic(true)).
	AssumeStaticByDefault bool
}

var config = struct {
	mu  sync.Mutex
	now Settings
}{now: Settings{RecompileLimit: 8, AutomaticDynamicShapes: true, AssumeStaticByDefault: true}}

// Config returns the settings.
func Config() Settings {
	config.mu.Lock()
	defer config.mu.Unlock()
	return config.now
}

// Configure changes the settings and returns what they were. It panics for a
// limit below 1.
func Configure(change func(*Settings)) Settings {
	config.mu.Lock()
	defer config.mu.Unlock()
	old, s := config.now, config.now
	change(&s)
	if s.RecompileLimit < 1 {
		panic(fmt.Sprintf("compiler.Configure: RecompileLimit %d is below 1", s.RecompileLimit))
	}
	config.now = s
	return old
}
