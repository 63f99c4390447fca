import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import type { App } from '../../src/platform/http/app.ts';
import { registerCookies } from '../../src/shell/context.ts';

/** Maximum size of a cookie's name and value in bytes. Browsers drop longer cookies. */
const maxCookieBytes = 4096;

test.each(['a', 'ü', '信', '👍'])('a message with an undo fits into a cookie for texts of %s', async (text) => {
  const app = fastify();
  const cookies = await registerCookies(app as unknown as App, 'https://perks.test', 1000);
  app.get('/:length', async (request, reply) => {
    const length = Number((request.params as { length: string }).length);
    const undo = { to: '/dashboard/p/1/offers/1', values: { terms: text.repeat(length) } };
    cookies.setFlash(reply, { kind: 'done', text: text.repeat(400), undo });
    return '';
  });
  for (const length of [10, 500, 900, 1900, 5000]) {
    const { headers } = await app.inject(`/${length}`);
    const [pair = ''] = String(headers['set-cookie']).split(';');
    expect(pair).toMatch(/perkwire_flash=done\./);
    expect(Buffer.byteLength(pair), `${length}`).toBeLessThanOrEqual(maxCookieBytes);
  }
  await app.close();
});
