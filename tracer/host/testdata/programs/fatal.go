package main

import (
	"fmt"
	"log"
	"os"
)

type Sq struct{ S float64 }

func (s Sq) String() string { return fmt.Sprintf("Sq<%g>", s.S) }

func main() {
	defer fmt.Println("deferred")
	log.SetFlags(0)
	log.SetOutput(os.Stdout)
	l := log.New(os.Stdout, "l: ", log.Lshortfile)
	switch os.Args[1] {
	case "Fatal":
		log.Fatal(Sq{1}, &Sq{2})
	case "Fatalf":
		log.Fatalf("%v %d", Sq{1}, Sq{2})
	case "Fatalln":
		log.Fatalln(Sq{1}, 2)
	case "l.Fatal":
		l.Fatal(Sq{1})
	case "l.Fatalf":
		l.Fatalf("%+v", Sq{1})
	case "l.Fatalln":
		l.Fatalln(Sq{1})
	}
}
