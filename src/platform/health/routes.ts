import { Type } from '@sinclair/typebox';
import { clockLimitMs, type DatabaseHealth } from '../db/health.ts';
import type { App } from '../http/app.ts';

const live = Type.Object({ status: Type.Literal('ok') });
const ready = Type.Object(
  {
    status: Type.Union([Type.Literal('ok'), Type.Literal('unavailable')]),
    database: Type.Boolean({ description: 'Whether the database can commit.' }),
    clock: Type.Boolean({
      description: "Whether the process's clock differs from the database's by less than a minute.",
    }),
    event_log: Type.Optional(
      Type.Boolean({ description: 'Whether the event log accepts events. Only with an event log.' }),
    ),
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
  /** Event log status, or null if no event log is configured. */
  eventLog: { isUp: () => boolean } | null;
};

/**
 * Registers the health routes. "Live" means that the process runs. "Ready" means that the database can commit and the
 * clocks agree (docs/reference/operations-health.md#health).
 */
export async function healthRoutes(app: App, { dbHealth, catalogVersion, eventLog }: HealthDeps): Promise<void> {
  app.get(
    '/health/live',
    {
      schema: {
        operationId: 'getLiveness',
        summary: 'Check liveness',
        description: 'Responds with 200 as long as the process runs. Does not check the database or other services.',
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
        summary: 'Check readiness',
        description:
          'Responds with 200 if the database can commit and the clocks agree, otherwise with 503. For load ' +
          'balancers.',
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
        summary: 'Check readiness for beacons and clicks',
        description: 'With an event log, beacons and clicks are accepted while the database is unavailable.',
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
