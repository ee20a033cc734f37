package stop

// LookAlways has each moment looked at, as those are at which a kept run is compared.
func LookAlways(d *Debugger) { d.moments.next.Store(0) }
