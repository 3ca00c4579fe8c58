#!/bin/sh
# run_cases.sh DD_CASES SOURCE_DIR FILE: runs dd_cases on a shared case file; 77 (skipped) where there is none.
shared=${DD_SHARED:-$2/../shared}
file=$shared/cases/$3
if [ ! -f "$file" ]; then
  echo "SKIPPED: no $3 (set DD_SHARED to the folder that holds cases/)"
  exit 77
fi
exec "$1" "$file"
