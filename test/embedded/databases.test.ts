import { expect, test } from 'vitest';
import { superviseEmbedded } from '../../src/embedded/databases.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { followHealth } from '../support/health.ts';
import { startOwnPostgres } from '../support/postgres.ts';

test('an embedded server that dies is always restarted, on the same port and with its data', async () => {
  const server = await startOwnPostgres();
  await server.query('create table kept (id integer)');
  const { dbHealth } = await followHealth(server.url);
  const stop = superviseEmbedded(server, { dbHealth, logger: createLogger('silent') });
  for (let round = 0; round < 2; round++) {
    server.signalAll('SIGKILL');
    await expect.poll(dbHealth.isUp).toBe(false);
    await expect.poll(dbHealth.isUp).toBe(true);
    expect(await server.query('select * from kept')).toEqual([]);
  }
  await stop();
  await dbHealth.stop();
  await server.close();
});
