import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRandom } from '../../src/platform/lib/random.ts';
import { clonePool } from '../support/database.ts';
import { freePort, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { timeLimit } from '../support/time-limit.ts';

let receiver: Server;
const receivedIds: string[] = [];
beforeAll(async () => {
  receiver = createServer((request, response) => {
    receivedIds.push(String(request.headers['webhook-id']));
    request.resume().on('end', () => response.end());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => receiver.once('listening', resolve));
});
afterAll(() => {
  receiver.close();
  receiver.closeAllConnections();
});

type Fetched = { data: { session_id: string; offers: { id: number; campaign_id: number; pixel: string }[] } };

const kills = 6;
/** Maximum time that the load runs before a kill, in milliseconds. */
const longestRunMs = 300;
/**
 * Pause before a user without a response calls again, in milliseconds. Without it, the users would take half a core
 * from the restart.
 */
const awayPauseMs = 100;

describe('a kill -9 loses no acknowledged call', () => {
  // The test kills and restarts processes six times under load.
  test(`for beacons and wraps in flight, in ${kills} rounds`, { timeout: timeLimit(600_000) }, async () => {
    const draw = createRandom(11);
    const { url: databaseUrl, pool, close } = await clonePool(2);
    const port = await freePort();
    let server: ServerProcess = await startServerProcess({ databaseUrl, port });
    const call = async (
      method: string,
      path: string,
      body?: object,
    ): Promise<{ status: number; json: unknown } | null> => {
      try {
        const answer = await fetch(path.startsWith('http') ? path : `http://127.0.0.1:${port}${path}`, {
          method,
          ...(body === undefined
            ? {}
            : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
        });
        return { status: answer.status, json: method === 'GET' ? await answer.arrayBuffer() : await answer.json() };
      } catch {
        return null; // killed meanwhile: not answered
      }
    };
    const hook = {
      url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
      method: 'POST',
      enabled: true,
    };
    expect(
      (await call('PUT', '/manage/v1/webhook-endpoints/usp.selection?api_key=demo-key', hook))?.status,
    ).toBeLessThan(300);

    const beacons: { session: string; offer: number }[] = [];
    const wraps: string[] = [];
    let running = true;
    const user = async (name: string): Promise<void> => {
      while (running) {
        const fetched = await call('POST', '/native/v4/offers.json?api_key=demo-key', {
          placement: 'checkout',
          pub_user_id: name,
        });
        if (fetched?.status !== 200) {
          await new Promise((resolve) => setTimeout(resolve, awayPauseMs));
          continue;
        }
        const { session_id, offers } = (fetched.json as Fetched).data;
        await Promise.all(
          offers.map(async (offer) => {
            const { pathname, search } = new URL(offer.pixel);
            if ((await call('GET', pathname + search))?.status === 200)
              beacons.push({ session: session_id, offer: offer.id });
          }),
        );
        const wrapped = await call('POST', `/sdk/v4/usp/session/${session_id}.json?api_key=demo-key`, {
          action: 'wrap',
        });
        if (wrapped?.status === 200) wraps.push(session_id);
      }
    };
    const users = Array.from({ length: 12 }, (_, index) => user(`user-${index}`));
    const untilMore = async (): Promise<void> => {
      const [wrapCount, beaconCount] = [wraps.length + 4, beacons.length + 12];
      await expect.poll(() => wraps.length).toBeGreaterThan(wrapCount);
      await expect.poll(() => beacons.length).toBeGreaterThan(beaconCount);
    };
    for (let kill = 0; kill < kills; kill++) {
      await untilMore();
      await new Promise((resolve) => setTimeout(resolve, draw() * longestRunMs));
      await server.kill();
      server = await startServerProcess({ databaseUrl, port });
    }
    await untilMore();
    running = false;
    await Promise.all(users);

    // Every answered beacon is stored as a row.
    const { rows: events } = await pool.query<{ key: string }>(
      "select session_id || ' ' || offer_id as key from events where kind = 'impression'",
    );
    const storedKeys = new Set(events.map((row) => row.key));
    expect(beacons.filter(({ session, offer }) => !storedKeys.has(`${session} ${offer}`))).toEqual([]);

    // Every answered wrap has exactly one delivery, and its webhook arrives.
    const { rows: deliveries } = await pool.query<{ session_id: string; id: string }>(
      'select session_id, id from deliveries',
    );
    const bySession = new Map(deliveries.map((row) => [row.session_id, row.id]));
    expect(deliveries).toHaveLength(bySession.size);
    expect(wraps.filter((session) => !bySession.has(session))).toEqual([]);
    await expect
      .poll(
        async () =>
          (await pool.query("select count(*)::int as n from deliveries where status <> 'delivered'")).rows[0].n,
      )
      .toBe(0);
    const arrived = new Set(receivedIds);
    expect(deliveries.filter((row) => !arrived.has(`msg_${row.id.replaceAll('-', '')}`))).toEqual([]);
    // No webhook arrives for a session that was not wrapped.
    const { rows: phantoms } = await pool.query(
      `select 1 from deliveries d where not exists (
        select 1 from usp_sessions u where u.session_id = d.session_id and u.wrapped_at is not null)`,
    );
    expect(phantoms).toEqual([]);

    expect(await server.stop()).toBe(0);
    await close();
  });
});
