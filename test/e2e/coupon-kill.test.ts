import { expect, test } from 'vitest';
import { couponContext } from '../../src/coupons/seals.ts';
import { createSecretBox } from '../../src/platform/security/secret-box.ts';
import { clonePool } from '../support/database.ts';
import { freePort, processSecrets, type ServerProcess, startServerProcess } from '../support/server-process.ts';

const kills = 3;
const codes = Array.from({ length: 3000 }, (_, index) => `KILL-${index}`);

type Offer = { id: number; campaign_id: number };
type Fetched = { data: { session_id: string; offers: Offer[] } };
type Wrapped = { data: { campaigns?: { coupon: { code: string } | null }[] } };

test(`no kill -9 of two processes, ${kills} times, loses a code or gives one twice, or loses a message`, async () => {
  const { url: databaseUrl, pool, close } = await clonePool(2);
  const ports = [await freePort(), await freePort()];
  const start = (port: number): Promise<ServerProcess> => startServerProcess({ databaseUrl, port });
  const servers = await Promise.all(ports.map(start));
  const call = async (at: number, path: string, body: object, method = 'POST'): Promise<unknown> => {
    try {
      const headers = { 'content-type': 'application/json', authorization: 'Bearer demo-key' };
      const url = `http://127.0.0.1:${ports[at]}${path}`;
      const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
      return answer.ok ? await answer.json() : null;
    } catch {
      return null; // killed meanwhile: not answered
    }
  };
  const { rows } = await pool.query<Offer>('select id, campaign_id from offers order by id');
  for (const { id } of rows.slice(0, 3)) await call(0, `/manage/v1/offers/${id}/coupon-codes`, { codes });
  await call(0, '/manage/v1/perk-messages/settings', { enabled: true }, 'PATCH');

  const answered = new Map<string, string>();
  let running = true;
  let count = 0;
  const user = async (at: number): Promise<void> => {
    while (running) {
      count += 1;
      const name = `user-${count}`;
      const fetched = (await call(at, '/native/v4/offers.json', {
        placement: 'checkout',
        pub_user_id: name,
      })) as Fetched | null;
      if (fetched === null) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        continue;
      }
      const { session_id: session, offers } = fetched.data;
      const offer = offers.find(({ id }) => rows.slice(0, 3).some((one) => one.id === id));
      if (offer === undefined) continue;
      const body = { action: 'wrap', selected: [offer.campaign_id], consent: true, email: `${name}@example.com` };
      const wrapped = (await call(at, `/sdk/v4/usp/session/${session}.json`, body)) as Wrapped | null;
      const code = wrapped?.data.campaigns?.[0]?.coupon?.code;
      if (code !== undefined) answered.set(`${session} ${offer.id}`, code);
    }
  };
  const users = Array.from({ length: 12 }, (_, index) => user(index % 2));
  for (let kill = 0; kill < kills; kill += 1) {
    const before = answered.size;
    await expect.poll(() => answered.size).toBeGreaterThan(before + 20);
    const at = kill % 2;
    await servers[at]?.kill();
    servers[at] = await start(ports[at] as number);
  }
  running = false;
  await Promise.all(users);

  const box = createSecretBox(Buffer.from(processSecrets.SECRETS_KEY, 'base64'));
  const { rows: given } = await pool.query<{ user_key: string; offer_id: number; session_id: string; sealed: Buffer }>(
    'select user_key, offer_id, session_id, sealed from coupons',
  );
  const stored = given.map((row) => ({
    key: `${row.session_id} ${row.offer_id}`,
    code: `${row.offer_id} ${box.open(row.sealed, couponContext([row.user_key, row.offer_id]))}`,
  }));
  expect(new Set(stored.map(({ code }) => code)).size).toBe(stored.length);
  const byKey = new Map(stored.map(({ key, code }) => [key, code.split(' ')[1]]));
  for (const [key, code] of answered) expect(byKey.get(key)).toBe(code);
  const { rows: stock } = await pool.query<{ given: string; total: string; rows: string }>(
    `select given, given + last_position - next_position + 1 as total,
      (select count(*) from coupons c where c.offer_id = s.offer_id) as rows
    from coupon_stock s`,
  );
  for (const one of stock) expect(one).toEqual({ given: one.rows, total: String(codes.length), rows: one.rows });
  const { rows: told } = await pool.query<{ sessions: string; messages: string; distinct: string }>(
    `select (select count(*) from usp_sessions where wrapped_at is not null and selected <> '{}') as sessions,
      count(*) as messages, count(distinct session_id) as distinct from perk_messages`,
  );
  expect(told[0]).toEqual({ sessions: told[0]?.sessions, messages: told[0]?.sessions, distinct: told[0]?.sessions });
  expect(answered.size).toBeGreaterThan(20 * kills);
  for (const server of servers) await server.stop();
  await close();
});
