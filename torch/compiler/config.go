package compiler

import (
	"fmt"
	"sync"
)

// Settings are the compiler's knobs, named as torch._dynamo.config names them. The first
// three hold for the calls of torch.Compile that follow, whose own options go before them; the
// others for all calls of compiled functions from now on.
type Settings struct {
	// RecompileLimit is how many entries a frame may have before it runs eagerly
	// (kw.RecompileLimit).
	RecompileLimit int
	// CacheSizeLimit is RecompileLimit under its older name: a change of one is one of both.
	CacheSizeLimit int
	// AutomaticDynamicShapes makes a size that changes a symbol; without it every
	// size is a constant (kw.Dynamic(false)).
	AutomaticDynamicShapes bool
	// AssumeStaticByDefault compiles sizes as constants first; without it they are
	// symbols at once (kw.Dynamic(true)).
	AssumeStaticByDefault bool
	// CaptureScalarOutputs has a whole number that is read out of a tensor be a symbol of the graph
	// (u0), with which the program may compute, and make tensors of that size; without it the
	// graph breaks there.
	CaptureScalarOutputs bool
	// CaptureDynamicOutputShapeOps has Nonzero, MaskedSelect, Unique and UniqueConsecutive be nodes of the graph, with a
	// symbol (u0) for how many elements they find; without it the graph breaks there.
	CaptureDynamicOutputShapeOps bool
	// SuppressErrors has a function run eagerly whose graph the backend cannot compile, which
	// is said once; without it the error goes to the caller. Under kw.Fullgraph(true) it always does.
	SuppressErrors bool
	// ErrorOnRecompile refuses a call that would recompile.
	ErrorOnRecompile bool
	// FailOnRecompileLimitHit refuses the call that reaches RecompileLimit, in place of running it eagerly.
	FailOnRecompileLimitHit bool
}

var config = struct {
	mu  sync.Mutex
	now Settings
}{now: Settings{RecompileLimit: 8, CacheSizeLimit: 8, AutomaticDynamicShapes: true, AssumeStaticByDefault: true}}

// Config returns the settings.
func Config() Settings {
	config.mu.Lock()
	defer config.mu.Unlock()
	return config.now
}

// Configure changes the settings and returns what they were. It panics for a
// limit below 1, and for settings that contradict each other.
func Configure(change func(*Settings)) Settings {
	config.mu.Lock()
	defer config.mu.Unlock()
	old, s := config.now, config.now
	change(&s)
	switch {
	case s.CacheSizeLimit == old.CacheSizeLimit:
		s.CacheSizeLimit = s.RecompileLimit
	case s.RecompileLimit == old.RecompileLimit:
		s.RecompileLimit = s.CacheSizeLimit
	case s.RecompileLimit != s.CacheSizeLimit:
		panic("compiler.Configure: RecompileLimit and CacheSizeLimit are one setting, and were given two values")
	}
	if s.SuppressErrors && s.FailOnRecompileLimitHit {
		panic("compiler.Configure: SuppressErrors and FailOnRecompileLimitHit contradict each other")
	}
	if s.RecompileLimit < 1 {
		panic(fmt.Sprintf("compiler.Configure: RecompileLimit %d is below 1", s.RecompileLimit))
	}
	config.now = s
	return old
}
