import { Type } from '@sinclair/typebox';
import { clockLimitMs } from '../db/health.ts';
import type { App, PlatformDeps } from '../ports.ts';

const live = Type.Object({ status: Type.Literal('ok') });
const ready = Type.Object(
  {
    status: Type.Union([Type.Literal('ok'), Type.Literal('unavailable')]),
    database: Type.Boolean({ description: 'Whether it can commit.' }),
    clock: Type.Boolean({ description: "Whether this process's clock is within a minute of the database's." }),
    catalog_version: Type.Integer(),
  },
  { title: 'Readiness' },
);

type HealthDeps = Pick<PlatformDeps, 'dbHealth'> & { catalogVersion: () => number };

/** Live: the process runs. Ready: the database can commit, and agrees on the time (docs/interface.md#health). */
export async function healthRoutes(app: App, { dbHealth, catalogVersion }: HealthDeps): Promise<void> {
  app.get('/health/live', { schema: { summary: 'Liveness', tags: ['Health'], response: { 200: live } } }, async () => ({
    status: 'ok' as const,
  }));
  app.get(
    '/health/ready',
    { schema: { summary: 'Readiness', tags: ['Health'], response: { 200: ready, 503: ready } } },
    async (_request, reply) => {
      const database = dbHealth.isUp();
      const clock = dbHealth.clockSkewMs() <= clockLimitMs;
      if (!database || !clock) reply.code(503).header('retry-after', '1');
      return {
        status: database && clock ? ('ok' as const) : ('unavailable' as const),
        database,
        clock,
        catalog_version: catalogVersion(),
      };
    },
  );
}
