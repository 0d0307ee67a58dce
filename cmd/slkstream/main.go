// Command slkstream labels feeds of embeddings.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "slkstream: no command yet")
	os.Exit(2)
}
