import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseNets } from '../../../src/config/nets.ts';
import { createSender } from '../../../src/webhooks/sender.ts';
import { createFetchFile } from '../../../src/webhooks/url-rules.ts';
import { woff2Of } from '../../support/font.ts';
import { type Caller, createManagementApp, type ManagementApp } from '../resources/support.ts';

const file = woff2Of({ family: 'Brand Sans', ascent: 930, descent: 250, advances: { e: 600 } });
const open = { 'access-control-allow-origin': '*' };

let t: ManagementApp;
let me: Caller;
let host: Server;
let base: string;
let origins: (string | undefined)[];
beforeAll(async () => {
  t = await createManagementApp({ scripts: true });
  me = await t.caller(t.publisher.id);
  host = createServer(({ url, headers }, response) => {
    origins.push(headers.origin);
    if (url === '/brand.woff2') return void response.writeHead(200, open).end(file);
    if (url === '/closed.woff2') return void response.writeHead(200).end(file);
    if (url === '/moved.woff2') return void response.writeHead(302, { ...open, location: '/moved.woff2' }).end();
    if (url === '/large.woff2') return void response.writeHead(200, open).end(Buffer.alloc(512 * 1024 + 1));
    if (url === '/page.woff2') return void response.writeHead(200, open).end('<!doctype html>');
    if (url === '/never.woff2') return;
    response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => host.once('listening', resolve));
  base = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
  origins = [];
});
afterAll(async () => {
  await t?.close();
  host?.close();
  host?.closeAllConnections();
});

const measure = (url: string) => me.call('POST', '/fonts', { url });
const measuredFont = async () => (await measure(`${base}/brand.woff2`)).body.data;
const errorOf = (body: object) => (body as { error: { code: string; details: { path: string }[] } }).error;

describe('a web font of a theme', () => {
  test('200: is measured from its file, and a theme accepts the response unchanged', async () => {
    const font = await measuredFont();
    expect(font).toMatchObject({ url: `${base}/brand.woff2`, family: 'Brand Sans', weights: '400', ascent: 930 });
    expect(origins.at(-1)).toBe('http://perks.test');
    const theme = { name: 'With a font', unit: 'mou', is_default: true, appearance: { web_font: font } };
    expect((await me.call('POST', '/themes', theme)).status).toBe(201);
    const answer = await t.app.inject({
      method: 'POST',
      url: `/native/v4/offers.json?api_key=${t.publisher.sdkId}`,
      payload: { placement: 'checkout', pub_user_id: 'font-1' },
    });
    expect(answer.json().data.appearance.web_font).toEqual({
      ...font,
      bold_url: '',
      bold_width: 0,
      faces: expect.stringContaining('ascent-override:93%'),
      families: '"perkwire Brand Sans","perkwire Brand Sans stand-in"',
    });
  });

  test('is allowed by the policy of hosted pages, which allows no other font origin', async () => {
    for (const path of [`/privacy/${t.publisher.sdkId}`, `/offerwall?accountId=${t.publisher.sdkId}`]) {
      const { headers, body } = await t.app.inject({ url: path });
      expect(headers['content-security-policy']).toContain(`font-src ${base};`);
      expect(body).toContain(`url("${base}/brand.woff2")`);
    }
    const id = await t.addPublisher();
    const other = t.deps.catalog.current().publishers.get(id);
    const { headers } = await t.app.inject({ url: `/privacy/${other?.sdkId}` });
    expect(headers['content-security-policy']).not.toContain('font-src');
  });

  test.each([
    ['/closed.woff2', 'Other sites cannot load the font'],
    ['/moved.woff2', 'The URL redirects to another URL (status 302). Enter the final URL.'],
    ['/large.woff2', 'The file can be at most 512 kB.'],
    ['/page.woff2', 'The file must be a woff2 file with a single font'],
    ['/gone.woff2', 'The server responded with status 404 instead of 200.'],
  ])('400: %s is rejected with the reason: %s', async (path, message) => {
    const { status, body } = await measure(base + path);
    expect([status, errorOf(body).code]).toEqual([400, 'invalid_font']);
    expect(errorOf(body).details).toEqual([{ path: '/url', message: expect.stringContaining(message) }]);
  });

  test.each([
    'http://fonts.example/a.woff2',
    'https://me:secret@fonts.example/a.woff2',
    'https://fonts.example/a").woff2',
    'https://fonts.example/a</style>',
    'file:///etc/passwd',
    'https://10.0.0.1/a.woff2',
    'https://[::ffff:10.0.0.1]/a.woff2',
    'https://169.254.169.254/latest/meta-data',
    'https://fonts.example:22/a.woff2',
    'brand.woff2',
  ])('400: %s is rejected and never fetched', async (url) => {
    origins.length = 0;
    const { status, body } = await measure(url);
    expect([status, errorOf(body).code]).toEqual([400, 'invalid_font']);
    expect(origins).toEqual([]);
  });

  test('400: is rejected without metrics, or with a bold face from another origin', async () => {
    const font = await measuredFont();
    const take = async (changes: object) => {
      const appearance = { web_font: { ...font, ...changes } };
      const { status, body } = await me.call('POST', '/themes', { name: 'Bad', unit: 'sou', appearance });
      return [status, ...errorOf(body).details.map((detail) => detail.path)];
    };
    expect(await take({ width: 0 })).toEqual([400, '/appearance/web_font/url']);
    expect(await take({ url: 'https://fonts.example/a").woff2' })).toEqual([400, '/appearance/web_font/url']);
    expect(await take({ family: 'A";}' })).toEqual([400, '/appearance/web_font/family']);
    expect(await take({ bold_url: 'https://other.example/b.woff2', bold_width: 500 })).toEqual([
      ...[400, '/appearance/web_font/bold_url'],
    ]);
  });

  test('is abandoned at the deadline if its host does not respond', async () => {
    const sender = createSender({ allowNets: [], allowHttp: true, userAgent: 'test' });
    const local = createSender({ allowHttp: true, userAgent: 'test', allowNets: parseNets('127.0.0.0/8') });
    const request = { headers: {}, deadlineMs: 50 };
    expect(await createFetchFile(local, 100)(`${base}/never.woff2`, request)).toEqual({
      problem: 'The server took too long to respond.',
    });
    expect(await createFetchFile(sender, 100)(`${base}/brand.woff2`, request)).toEqual({
      problem: 'The host of the URL must have a public IP address.',
    });
    await Promise.all([sender.close(), local.close()]);
  });
});
