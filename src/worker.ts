import type { Deps } from './deps.ts';
import { startFolder } from './reports/folder.ts';
import { createSigner } from './security/keyring.ts';
import { startDispatcher } from './webhooks/dispatcher/worker.ts';
import { createPayloadLinks, payloadLinkPurpose } from './webhooks/payload-link.ts';

/** Longest call of an endpoint, so that a stopping worker lets it end where the shutdown limit allows (milliseconds). */
const longestCallMs = 20_000;

/** The role `worker`: sends what is in the outbox, and keeps the reports up to date. */
export async function startWorker(deps: Deps, databaseUrl: string): Promise<{ stop: () => Promise<void> }> {
  const dispatcher = await startOutbox(deps, databaseUrl);
  const folder = startFolder(deps);
  return {
    stop: async () => {
      await Promise.all([dispatcher.stop(), folder.stop()]);
    },
  };
}

function startOutbox(deps: Deps, databaseUrl: string): Promise<{ stop: () => Promise<void> }> {
  const { config, pool, logger, sender, secretBox, now } = deps;
  return startDispatcher({
    pool,
    databaseUrl,
    logger,
    sender,
    secretBox,
    payloadLinks: createPayloadLinks(createSigner(config.tokenKeys, payloadLinkPurpose), config.publicUrl),
    concurrency: config.workerConcurrency,
    drainLimitMs: Math.min(longestCallMs, config.shutdownTimeoutMs / 2),
    now,
    random: Math.random,
  });
}
