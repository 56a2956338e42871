// Go: job KIND bad|good.
package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

var bad = os.Args[2] == "bad"

func count(n int) int {
	x := 1
	for i := 0; i < n; i++ { // CULPRIT count
		x = x*1664525 + 1013904223 // CULPRIT count
	}
	return x & 1
}

func concat(n int) int {
	s := ""
	for i := 0; i < n; i++ {
		s += "0123456789" // CULPRIT concat
	}
	return len(strings.TrimSpace(s))
}

func held() {
	var lock sync.Mutex
	var all sync.WaitGroup
	for i := 0; i < 6; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			lock.Lock()
			defer lock.Unlock()
			if bad {
				time.Sleep(100 * time.Millisecond) // CULPRIT held
			}
		}()
	}
	all.Wait()
}

func main() {
	n := map[string][2]int{"count": {400000000, 1000}, "concat": {22000, 100}}[os.Args[1]]
	size := n[1]
	if bad {
		size = n[0]
	}
	switch os.Args[1] {
	case "count":
		count(size)
	case "concat":
		concat(size)
	case "held":
		held()
	}
	fmt.Println("done")
}
