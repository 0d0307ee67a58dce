#!/bin/bash
# Prometheus's own promtool reads the alert rules, and sees each of them fire, and none of them for a stage at rest.
set -euo pipefail
cd "$(dirname "$0")/../../deploy"
promtool check rules alerts.yml
promtool test rules alerts_test.yml
wrong=$(mktemp -d)
trap 'rm -rf "$wrong"' EXIT
for change in 's/expr:/exprs:/' 's/ > 0/ > > 0/' 's/for: /for: soon/' 's/- alert: /- alerts: /'; do
	sed "$change" alerts.yml >"$wrong/alerts.yml"
	! cmp -s alerts.yml "$wrong/alerts.yml" || { echo "alerts.yml has nothing for $change"; exit 1; }
	! promtool check rules "$wrong/alerts.yml" >/dev/null 2>&1 || { echo "promtool takes alerts.yml after $change"; exit 1; }
done
for alert in $(sed -n 's/^ *- alert: //p' alerts.yml); do
	grep -q "alertname=\"$alert\"" alerts_test.yml || { echo "no test sees $alert fire"; exit 1; }
done
