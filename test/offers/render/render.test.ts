import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isServedTo } from '../../../src/catalog/provisioning.ts';
import type { Publisher } from '../../../src/catalog/types.ts';
import { createRenderer } from '../../../src/offers/render/render.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
  await t.pool.query(`update offers set terms_and_conditions = repeat('…', 1600)`);
  await t.deps.catalog.refresh();
  await t.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => t.close());

const path = '/native/v4/offers.json?api_key=demo-key';
const body = JSON.stringify({ placement: 'checkout' });
const head = ['host: t', 'content-type: application/json', `content-length: ${body.length}`];
const request = [`POST ${path} HTTP/1.1`, ...head, '', body].join('\r\n');

/** Number of requests whose responses exceed the kernel's buffers on a connection that the client does not read. */
const unread = 600;

const sessionCount = async (): Promise<number> =>
  Number((await t.pool.query('select count(*) from sessions')).rows[0].count);

test('a response that its client has not yet read is not overwritten by later ones', async () => {
  const { port } = t.app.server.address() as AddressInfo;
  const slow = connect({ port, host: '127.0.0.1' }).pause();
  slow.write(request.repeat(unread));
  await expect.poll(sessionCount).toBe(unread);
  for (let round = 0; round < 20; round += 1)
    await Promise.all(
      Array.from({ length: 10 }, () =>
        t.app.inject({ method: 'POST', url: path, headers: { 'content-type': 'application/json' }, payload: body }),
      ),
    );
  let text = '';
  slow.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  const ids = (): string[] => [...text.matchAll(/"session_id":"([^"]+)"/g)].map((match) => match[1] as string);
  slow.resume();
  await expect.poll(() => ids().length).toBe(unread);
  slow.destroy();
  expect(new Set(ids()).size).toBe(unread);
});

test.each(['before the first request', 'as soon as one offer is shown'])(
  'the QR codes of all offers are rendered between requests, %s',
  async (when) => {
    const urls = new Set<string>();
    const qrCodes = (url: string): string => {
      urls.add(url);
      return 'data:,';
    };
    const renderer = createRenderer({ publicUrl: 'http://perks.test', tokens: t.deps.tokens, qrCodes, now: Date.now });
    const publisher = t.deps.catalog.current().publishers.get(t.publisher.id) as Publisher;
    const served = publisher.index.offers.filter((offer) => isServedTo(offer, publisher));
    const { defaultTheme: theme, language } = publisher;
    const session = { sessionId: newUuid7(Date.now()), dev: false, hasUser: false, usp: false, macros: {} };
    if (when === 'before the first request') await renderer.prepare([publisher]);
    else {
      renderer.render({ publisher, theme, language, ...session, assigned: null, offers: served.slice(0, 1) });
      expect(urls.size).toBe(1);
    }
    await expect.poll(() => urls.size).toBe(served.length);
  },
);
