import { setTimeout as sleep } from 'node:timers/promises';
import type { PlatformDeps } from '../platform/ports.ts';
import type { EmbeddedPostgres } from './postgres.ts';

/** Pause between two looks at a server that does not answer (milliseconds). */
const retryMs = 500;

/** Starts the server again when it dies, for as long as this process runs. @returns ends that */
export function superviseEmbedded(
  database: Pick<EmbeddedPostgres, 'ensureRunning'>,
  { dbHealth, logger }: Pick<PlatformDeps, 'dbHealth' | 'logger'>,
): () => Promise<void> {
  let stopped = false;
  let restarting: Promise<void> | null = null;

  async function restart(): Promise<void> {
    while (!stopped && !dbHealth.isUp()) {
      await database
        .ensureRunning()
        .catch((err) => logger.error({ err }, 'the embedded database could not be started again'));
      await sleep(retryMs);
    }
  }

  dbHealth.onDown(() => {
    restarting ??= restart().finally(() => {
      restarting = null;
    });
  });
  return async () => {
    stopped = true;
    await restarting;
  };
}
