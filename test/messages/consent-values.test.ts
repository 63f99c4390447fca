import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { saveUrlOf, showOneTo } from '../perks/wallet/support.ts';
import { tablesWith } from '../privacy/support.ts';
import { openMailServer } from '../support/smtp-server.ts';
import { createTimedApp } from '../tracking/conversions/support.ts';
import { messageCalls } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let smtp: Awaited<ReturnType<typeof openMailServer>>;
let calls: ReturnType<typeof messageCalls>;
beforeAll(async () => {
  smtp = await openMailServer();
  t = await createTimedApp({ config: { mail: smtp.mail } });
  calls = messageCalls(t);
  const set = await calls.settings({ enabled: true, reminder_hours: 1 });
  expect(set.statusCode, set.body).toBe(200);
});
afterAll(async () => {
  await t?.close();
  await smtp?.close();
});

const granted = [true, 1, 'true', '1', 'yes', 'granted'];
const refused = [
  ...[false, 0, 'false', 'False', 'FALSE', '0', 'no', 'No', 'denied', 'off', 'null', 'undefined', 'maybe', '2', 2],
  ...[{ ad_storage: 'denied' }, { ad_storage: 'granted' }, [], ['granted'], [true], {}, 'TCF:1', ' ', '', null],
];
let users = 0;
const nextUser = (): string => {
  users += 1;
  return `reader-${users}`;
};

describe.each([
  [
    'wrap',
    async (user: string, body: object) => {
      const { id, answer } = await calls.wrap(user, body);
      return { sessionId: id, status: answer.status };
    },
  ],
  [
    'save',
    async (user: string, body: object) => {
      const offer = await showOneTo(t, user);
      await t.pool.query('update campaigns set rules = $2 where id = $1', [
        offer.campaign_id,
        { schedule: { end_at: new Date(t.clock.ms + 2 * 3_600_000).toISOString() } },
      ]);
      await t.deps.catalog.refresh();
      const saved = await t.app.inject({ method: 'POST', url: saveUrlOf(offer), payload: body });
      return { sessionId: offer.sessionId, status: saved.statusCode };
    },
  ],
])('a %s', (_name, send) => {
  test.each(granted.map((consent) => [consent]))('sends an e-mail with consent %j', async (consent) => {
    const user = nextUser();
    const { sessionId, status } = await send(user, { consent, email: `${user}@shop.example` });
    expect([status, (await calls.logOf(sessionId))?.state]).toEqual([200, 'pending']);
  });

  test.each(refused.map((consent) => [consent]))(
    'succeeds with consent %j but sends no e-mail and does not store the address',
    async (consent) => {
      const user = nextUser();
      const { sessionId, status } = await send(user, { consent, email: `${user}@shop.example` });
      expect([status, await calls.logOf(sessionId)]).toEqual([200, undefined]);
      expect(await tablesWith(t, `${user}@shop.example`)).toEqual([]);
    },
  );
});
