# Sourced: where fetch.sh keeps Python's environments for the steps, and how one is made.
python=${XDG_CACHE_HOME:-$HOME/.cache}/slkstream-ci
mkdir -p "$python"
python_with() { # name, what pip installs...
	[ -x "$python/$1/bin/pip" ] || python3 -m venv "$python/$1"
	"$python/$1/bin/pip" install -q --disable-pip-version-check "${@:2}"
}
