package identity_test

import (
	"fmt"

	"github.com/slkstream/slkstream/solver/identity"
)

// Two cameras see the same two things, and number them as they come.
func Example() {
	linker := identity.New(identity.Defaults())
	cluster := func(stream, name string, mean ...float32) identity.Cluster {
		return identity.Cluster{Key: identity.Key{Stream: stream, Cluster: name}, Mean: mean, Items: 10}
	}
	linker.Update([]identity.Cluster{
		cluster("door", "cluster-1", .9, 0, .2), cluster("door", "cluster-2", 0, .9, .2),
		cluster("yard", "cluster-1", .2, .9, 0), cluster("yard", "cluster-2", .9, .1, 0),
	}, nil)
	fmt.Println(linker.Members(linker.Of(identity.Key{Stream: "door", Cluster: "cluster-1"})))
	fmt.Println(linker.Members(linker.Of(identity.Key{Stream: "door", Cluster: "cluster-2"})))
	// Output:
	// [{door cluster-1 } {yard cluster-2 }]
	// [{door cluster-2 } {yard cluster-1 }]
}
