package explain

import (
	"time"

	"tcdbg/logs"
)

// Session is what people and a program that they debug said to each other: where it stopped,
// its breakpoints, what expressions were.
type Session struct {
	Stops   []*Stop        // as they came; the newest ones
	Earlier int            // stops that are not kept
	Points  []logs.Point   // breakpoints that are set, by id
	Answers []*logs.Answer // the newest ones, the last one last
}

// Stop is one moment at which the program stood still. Its values are read when asked for.
type Stop struct {
	ID, Process int // ids count the stops of a process
	Rank        int // -1: none
	Thread      string
	Kind        logs.StopKind
	Why         string
	Point       int // breakpoint that was hit, 0: none
	Where       logs.Pos
	Compiled    string // function that is traced or called
	Compile     string // compile id, 1/0
	Seq         int64  // record
	At          time.Time
	Stands      bool // the program has not gone on
	// Moment counts what the program has done, 0: it is not kept; Past is set where it was
	// run again to it, and is where the program itself stands.
	Moment, Past int64
	NoBack       string // why it cannot be run again to an earlier moment
	Note         string // what else there is to say
	// Load reads all of it; an empty stop where the record cannot be read again.
	Load func() *logs.Stop
}

// Standing are the stops at which the program stands, of each thread that does.
func (s *Session) Standing() []*Stop {
	var out []*Stop
	for _, x := range s.Stops {
		if x.Stands {
			out = append(out, x)
		}
	}
	return out
}
