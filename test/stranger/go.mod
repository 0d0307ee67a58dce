// A module of its own, as a stranger would have it: it may import only what is public.
module example.com/stranger

go 1.26.0

require github.com/slkstream/slkstream v0.0.0

replace github.com/slkstream/slkstream => ../..
