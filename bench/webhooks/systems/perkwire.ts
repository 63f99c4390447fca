import { createPool } from '../../../src/platform/db/pool.ts';
import { dayOfUuid7, newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { countMoves } from '../../../src/webhooks/deliveries/counts.ts';
import type { System } from './types.ts';

/** Queues deliveries like the outbox, in batches. The worker is the built server with the role `worker`. */
export const perkwire: System = {
  name: 'Perkwire',
  prepare: async () => {},
  openProducer: async (url) => {
    const pool = createPool({ url, size: 2, applicationName: 'bench-producer', onError: () => {} });
    return {
      add: async (jobs) => {
        const ids = jobs.map(() => newUuid7(Date.now()));
        await pool.query(
          `with given as (
            select g.id, g.day, e.id as endpoint_id, e.publisher_id, g.payload
            from unnest($1::uuid[], $2::date[], $3::text[], $4::text[]) as g (id, day, url, payload)
            join webhook_endpoints e on e.url = g.url
          ), created as (
            insert into deliveries (day, id, publisher_id, endpoint_id, event, payload, status)
            select day, id, publisher_id, endpoint_id, 'usp.selection', convert_to(payload, 'utf8'), 'pending'
            from given
          ), queued as (
            insert into delivery_queue (delivery_id, day, endpoint_id, due_at)
            select id, day, endpoint_id, now() from given
            returning endpoint_id
          ), counted as (
            ${countMoves("select publisher_id, day, null as was, 'pending' as became from given")}
          )
          select pg_notify('perkwire_outbox', left(string_agg(distinct endpoint_id::text, ' '), 7000))
          from queued having count(*) > 0`,
          [ids, ids.map(dayOfUuid7), jobs.map((job) => job.url), jobs.map((job) => job.payload)],
        );
      },
      close: () => pool.end(),
    };
  },
};
