#!/bin/bash
# Prometheus's own promtool reads the alert rules, and sees each of them fire, and none of them for a stage at rest.
set -euo pipefail
cd "$(dirname "$0")/../../deploy"
promtool check rules alerts.yml
promtool test rules alerts_test.yml
for alert in $(sed -n 's/^ *- alert: //p' alerts.yml); do
	grep -q "alertname=\"$alert\"" alerts_test.yml || { echo "no test sees $alert fire"; exit 1; }
done
