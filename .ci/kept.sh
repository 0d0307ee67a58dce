# Sourced: the folder where fetch.sh keeps for the steps what is no package of the system.
kept=${XDG_CACHE_HOME:-$HOME/.cache}/slkstream-ci
mkdir -p "$kept"
