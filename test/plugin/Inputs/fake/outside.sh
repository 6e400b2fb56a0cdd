#!/bin/sh
# A well-formed answer with a place outside of the text.
while read -r line; do
  echo '{"id":1,"unit":{"file":"a.cu","kernels":[],"constants":[],"errors":[],"lost_launches":[{"at":[9999999,4]}]}}'
done
