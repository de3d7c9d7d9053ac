#!/usr/bin/env bash
# Pushes the image pgboost:N as ghcr.io/OWNER/REPOSITORY:VERSION-pgN: push.sh N, in a workflow of a tag
# vVERSION. The name and the digest go to the step's outputs.
set -euo pipefail

major=$1
name=ghcr.io/${GITHUB_REPOSITORY,,}
image=$name:${GITHUB_REF_NAME#v}-pg$major
docker login ghcr.io --username "$GITHUB_ACTOR" --password-stdin <<<"$GH_TOKEN"
docker tag "pgboost:$major" "$image"
docker push "$image"
pushed=$(docker image inspect --format '{{index .RepoDigests 0}}' "$image")
printf 'name=%s\ndigest=%s\n' "$name" "${pushed#*@}" >>"$GITHUB_OUTPUT"
