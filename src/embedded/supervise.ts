import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseHealth } from '../platform/db/health.ts';
import type { Logger } from '../platform/logger.ts';
import type { EmbeddedPostgres } from './postgres.ts';

/** Pause between two looks at a server that does not answer (milliseconds). */
const retryMs = 500;

/** Starts the server again when it dies, for as long as this process runs. @returns ends that */
export function superviseEmbedded(
  database: Pick<EmbeddedPostgres, 'ensureRunning'>,
  { dbHealth, logger }: { dbHealth: DatabaseHealth; logger: Logger },
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
