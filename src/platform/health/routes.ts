import { Type } from '@sinclair/typebox';
import type { App, PlatformDeps } from '../ports.ts';

const live = Type.Object({ status: Type.Literal('ok') });
const ready = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('unavailable')]),
  database: Type.Boolean(),
  catalog_version: Type.Integer(),
});

type HealthDeps = Pick<PlatformDeps, 'dbHealth'> & { catalogVersion: () => number };

/** Live: the process runs. Ready: the database is available. */
export async function healthRoutes(app: App, { dbHealth, catalogVersion }: HealthDeps): Promise<void> {
  app.get('/health/live', { schema: { summary: 'Liveness', tags: ['Health'], response: { 200: live } } }, async () => ({
    status: 'ok' as const,
  }));
  app.get(
    '/health/ready',
    { schema: { summary: 'Readiness', tags: ['Health'], response: { 200: ready, 503: ready } } },
    async (_request, reply) => {
      const database = dbHealth.isUp();
      if (!database) reply.code(503).header('retry-after', '1');
      return {
        status: database ? ('ok' as const) : ('unavailable' as const),
        database,
        catalog_version: catalogVersion(),
      };
    },
  );
}
