import { Type } from '@sinclair/typebox';
import { clockLimitMs, type DatabaseHealth } from '../db/health.ts';
import type { App } from '../http/app.ts';

const live = Type.Object({ status: Type.Literal('ok') });
const ready = Type.Object(
  {
    status: Type.Union([Type.Literal('ok'), Type.Literal('unavailable')]),
    database: Type.Boolean({ description: 'Whether it can commit.' }),
    clock: Type.Boolean({ description: "Whether this process's clock is within a minute of the database's." }),
    event_log: Type.Optional(Type.Boolean({ description: 'With an event log: whether it takes events.' })),
    catalog_version: Type.Integer(),
  },
  { title: 'Readiness' },
);

const tracking = Type.Object(
  { status: Type.Union([Type.Literal('ok'), Type.Literal('unavailable')]) },
  { title: 'TrackingReadiness' },
);

const wrongMethod = Type.Ref('Error');

type HealthDeps = {
  dbHealth: DatabaseHealth;
  catalogVersion: () => number;
  /** Event log, or null if absent. */
  eventLog: { isUp: () => boolean } | null;
};

/**
 * Registers the health routes. Live means that the process runs; ready means that the database can commit and the
 * clocks agree (docs/reference/operations-health.md#health).
 */
export async function healthRoutes(app: App, { dbHealth, catalogVersion, eventLog }: HealthDeps): Promise<void> {
  app.get(
    '/health/live',
    {
      schema: {
        operationId: 'getLiveness',
        summary: 'Liveness',
        description: '200 as long as the process runs. It asks neither the database nor anything else.',
        tags: ['Health'],
        security: [],
        response: { 200: live, 405: wrongMethod },
      },
    },
    async () => ({
      status: 'ok' as const,
    }),
  );
  app.get(
    '/health/ready',
    {
      schema: {
        operationId: 'getReadiness',
        summary: 'Readiness',
        description: '200 while the database can commit and agrees on the time, else 503. For load balancers.',
        tags: ['Health'],
        security: [],
        response: { 200: ready, 405: wrongMethod, 503: ready },
      },
    },
    async (_request, reply) => {
      const database = dbHealth.isUp();
      const clock = dbHealth.clockSkewMs() <= clockLimitMs;
      if (!database || !clock) reply.code(503).header('retry-after', '1');
      return {
        status: database && clock ? ('ok' as const) : ('unavailable' as const),
        database,
        clock,
        ...(eventLog === null ? {} : { event_log: eventLog.isUp() }),
        catalog_version: catalogVersion(),
      };
    },
  );
  app.get(
    '/health/tracking',
    {
      schema: {
        operationId: 'getTrackingReadiness',
        summary: 'Readiness for beacons and clicks',
        description: 'With an event log they are taken while the database is unavailable.',
        tags: ['Health'],
        security: [],
        response: { 200: tracking, 405: wrongMethod, 503: tracking },
      },
    },
    async (_request, reply) => {
      if (dbHealth.isUp() || eventLog?.isUp() === true) return { status: 'ok' as const };
      reply.code(503).header('retry-after', '1');
      return { status: 'unavailable' as const };
    },
  );
}
