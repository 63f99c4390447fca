import type { Deps } from './deps.ts';
import { createSigner } from './security/keyring.ts';
import { startDispatcher } from './webhooks/dispatcher/worker.ts';
import { createPayloadLinks, payloadLinkPurpose } from './webhooks/payload-link.ts';

/** Longest call of an endpoint, so that a stopping worker lets it end where the shutdown limit allows (milliseconds). */
const longestCallMs = 20_000;

/** The role `worker`: sends what is in the outbox. */
export function startWorker(deps: Deps, databaseUrl: string): Promise<{ stop: () => Promise<void> }> {
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
