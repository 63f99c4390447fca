import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createWalletLinks, openPurpose, removePurpose } from '../../../src/perks/wallet/links.ts';
import { createSigner } from '../../../src/platform/security/tracking-token.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, storedEvents } from '../../tracking/journey.ts';
import { formTokens, local, postForm, save, saveOneFor, saveUrlOf, showOneTo, showTo, storedItems } from './support.ts';

let testApp: TestApp;
let nowMs = Date.now();
const dayMs = 86_400_000;

beforeAll(async () => {
  testApp = await createTestApp({ now: () => nowMs });
});
afterAll(() => testApp?.close());
beforeEach(async () => {
  nowMs = Date.now();
  await testApp.pool.query('truncate wallet_items, events');
  await testApp.pool.query('update publishers set wallet_enabled = true');
  await testApp.pool.query('update offers set active = true');
  await testApp.deps.catalog.refresh();
});

const open = (path: string) =>
  testApp.app.inject({
    method: 'GET',
    url: path,
    headers: { accept: 'text/html,*/*;q=0.8' },
    remoteAddress: '10.4.4.4',
  });

describe('the page of a signed link', () => {
  test("shows dates in the publisher's time zone", async () => {
    const timeZone = new Date(nowMs).getUTCHours() < 11 ? 'Pacific/Pago_Pago' : 'Pacific/Kiritimati';
    const setZone = async (zone: string): Promise<void> => {
      await testApp.pool.query('update publishers set time_zone = $1', [zone]);
      await testApp.deps.catalog.refresh();
    };
    await setZone(timeZone);
    const { page } = await saveOneFor(testApp, 'traveller');
    const [, day] = /<time[^>]*>([^<]+)</.exec((await open(page)).body) ?? [];
    await setZone('UTC');
    const dayIn = (zone: string) =>
      new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: zone }).format(nowMs);
    expect(day).toBe(dayIn(timeZone));
    expect(day).not.toBe(dayIn('UTC'));
  });

  test('shows image, texts and state of saved offers with links to open and buttons to remove them', async () => {
    const { offer, page } = await saveOneFor(testApp, 'reader');
    const response = await open(page);
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(response.body).toContain('1 saved offer ·');
    expect(response.body).toContain(`<h2 dir="auto">${offer.title}</h2>`);
    expect(response.body).toContain(`href="${offer.click_url}"`);
    const [, source = ''] = /<img src="([^"]+)"/.exec(response.body) ?? [];
    const image = await testApp.app.inject(local(source.replaceAll('&amp;', '&')));
    expect(image.statusCode).toBe(200);
    expect(image.headers['content-type']).toMatch(/^image\//);
    expect(formTokens(response.body, '/wallet/remove')).toHaveLength(1);
  });

  test('runs no script, sends no referrer, and cannot be framed, cached, indexed or read cross-origin', async () => {
    const { page } = await saveOneFor(testApp, 'reader');
    const { headers, body } = await open(page);
    const csp = String(headers['content-security-policy']);
    expect(csp).toContain("default-src 'none'");
    expect(csp).toContain("form-action 'self'");
    expect(csp).toContain("base-uri 'none'");
    expect(csp).toContain("frame-ancestors 'none'");
    expect(csp).not.toMatch(/script-src|unsafe/);
    const [, css = ''] = /<style>([\s\S]*?)<\/style>/.exec(body) ?? [];
    expect(csp).toContain(`'sha256-${createHash('sha256').update(css).digest('base64')}'`);
    expect(body).not.toMatch(/<script|\son\w+=|\sstyle=/i);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex, nofollow',
    });
    expect(headers['access-control-allow-origin']).toBeUndefined();
    expect(headers['set-cookie']).toBeUndefined();
  });

  test('works on a narrow screen and by keyboard, with named controls, a language and a viewport', async () => {
    const { page } = await saveOneFor(testApp, 'reader');
    const { body } = await open(page);
    expect(body).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/);
    expect(body).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
    expect(body).toContain(':focus-visible');
    expect(body).toContain('minmax(min(100%,17rem),1fr)');
    expect(body).toMatch(/<button class="button plain" aria-label="Remove: [^"]+">Remove<\/button>/);
    expect(body).toMatch(
      /<a class="button main" href="[^"]+" target="_blank" rel="noopener noreferrer" aria-label="[^"]+: [^"]+">/,
    );
    expect(body).not.toMatch(/tabindex/);
  });

  test('contains neither the user nor any IDs except those of the offers', async () => {
    const { page } = await saveOneFor(testApp, 'secret-user-name');
    expect(page).not.toContain('secret');
    expect(Buffer.from(page.split('=')[1] ?? '', 'base64url').toString('latin1')).not.toContain('secret');
    expect((await open(page)).body).not.toContain('secret-user-name');
  });

  test('shows the offers of one user only', async () => {
    const mine = await saveOneFor(testApp, 'me');
    const yours = await showTo(testApp, 'you');
    const page = local((await save(testApp, yours[1] as never)).json().data.wallet_url);
    expect(page).not.toBe(mine.page);
    expect((await open(page)).body).toContain(`<h2 dir="auto">${yours[1]?.title}</h2>`);
    expect((await open(mine.page)).body).not.toContain(`<h2 dir="auto">${yours[1]?.title}</h2>`);
  });

  test('shows a friendly text if nothing is saved', async () => {
    const { offer, page } = await saveOneFor(testApp, 'empty');
    await testApp.pool.query('truncate wallet_items');
    const { statusCode, body } = await open(page);
    expect(statusCode).toBe(200);
    expect(body).toContain('No saved offers yet');
    expect(body).toContain('0 saved offers');
    expect(body).not.toContain(offer.title);
  });

  test('lists a paused offer as unavailable, with a button to remove it but no link', async () => {
    const { offer, page } = await saveOneFor(testApp, 'pauser');
    await testApp.pool.query('update offers set active = false where id = $1', [offer.id]);
    await testApp.deps.catalog.refresh();
    const { body } = await open(page);
    expect(body).toContain('No longer available');
    expect(body).toContain(`<h2 dir="auto">${offer.title}</h2>`);
    expect(body).not.toContain('offer-click');
    expect(formTokens(body, '/wallet/remove')).toHaveLength(1);
  });

  test('opens the offer with a click that is counted', async () => {
    const offer = await showOneTo(testApp, 'buyer');
    await call(testApp, offer.pixel);
    const page = local((await save(testApp, offer)).json().data.wallet_url);
    nowMs += 5000;
    const [, href = ''] = /<a class="button main" href="([^"]+)"/.exec((await open(page)).body) ?? [];
    const response = await call(testApp, href);
    expect(response.statusCode).toBe(302);
    expect((await storedEvents(testApp)).filter(({ kind }) => kind === 'click')).toMatchObject([{ suspicious: null }]);
  });
});

describe('hostile texts', () => {
  const attack = `</h2></style></title><script>alert(1)</script><img src=x onerror=alert(2)>"'&\``;

  test('are displayed as text in offers, names and user values', async () => {
    const { offer, page } = await saveOneFor(testApp, attack);
    await testApp.pool.query('update publishers set name = $1', [attack]);
    await testApp.pool.query('update advertisers set name = $1', [attack]);
    await testApp.pool.query(
      `update offers set title = $1, description = $2, mini_text = $2, cta_yes = $3, short_headline = '',
      terms_and_conditions = $4 where id = $5`,
      [
        attack.slice(0, 90),
        attack,
        '"><b>x</b>',
        `<p onclick="x()">Terms</p>${attack}<style>*{display:none}</style><a href="javascript:alert(3)">a</a>`,
        offer.id,
      ],
    );
    await testApp.deps.catalog.refresh();
    const { statusCode, body } = await open(page);
    expect(statusCode).toBe(200);
    expect(body).not.toMatch(/<script|onerror=alert\(2\)>(?!&)|<b>|onclick|javascript:/i);
    expect(body.match(/<img /g)).toHaveLength(1);
    expect(body.match(/<style>/g)).toHaveLength(1);
    expect(body.match(/<title>/g)).toHaveLength(1);
    expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(body).toContain('<p>Terms</p>');
  });

  test('are displayed as text in macros, and escaped once', async () => {
    const first = await showOneTo(testApp, 'm');
    await testApp.pool.query(
      "update offers set title = 'For {{name}}', terms_and_conditions = '', mini_text = '' where id = $1",
      [first.id],
    );
    await testApp.deps.catalog.refresh();
    const offer = await showOneTo(testApp, 'm', { name: `O'Brien <i>&amp;` });
    const page = local((await save(testApp, offer)).json().data.wallet_url);
    expect((await open(page)).body).toContain('<h2 dir="auto">For O&#39;Brien &lt;i&gt;&amp;amp;</h2>');
  });
});

describe('the remove button', () => {
  test('removes that offer, returns to the page, and does no harm when repeated', async () => {
    const offers = await showTo(testApp, 'tidy');
    let page = '';
    for (const offer of offers) page = local((await save(testApp, offer)).json().data.wallet_url);
    const tokens = formTokens((await open(page)).body, '/wallet/remove');
    expect(tokens).toHaveLength(offers.length);
    for (let repeat = 0; repeat < 2; repeat++) {
      const response = await postForm(testApp, '/wallet/remove', { t: tokens[0] as string });
      expect(response.statusCode).toBe(303);
      expect(response.headers.location).toBe(page);
    }
    expect(await storedItems(testApp)).toHaveLength(offers.length - 1);
    expect(formTokens((await open(page)).body, '/wallet/remove')).toEqual(tokens.slice(1));
  });

  test('accepts only its own valid tokens by POST, not a page link or tracking token', async () => {
    const { offer, page } = await saveOneFor(testApp, 'safe');
    const [token = ''] = formTokens((await open(page)).body, '/wallet/remove');
    const link = page.split('=')[1] as string;
    const tracking = saveUrlOf(offer).split('=')[1] as string;
    const altered = token.slice(0, 30) + (token[30] === 'A' ? 'B' : 'A') + token.slice(31);
    for (const t of [link, tracking, altered, ''])
      expect((await postForm(testApp, '/wallet/remove', { t })).statusCode).toBe(400);
    expect((await testApp.app.inject({ method: 'GET', url: `/wallet/remove?t=${token}` })).statusCode).toBe(405);
    expect((await testApp.app.inject({ method: 'POST', url: `/wallet/remove?t=${token}` })).statusCode).toBe(400);
    const json = await testApp.app.inject({ method: 'POST', url: '/wallet/remove', payload: { t: token } });
    expect(json.statusCode).toBe(415);
    nowMs += 61 * dayMs;
    expect((await postForm(testApp, '/wallet/remove', { t: token })).statusCode).toBe(400);
    expect(await storedItems(testApp)).toHaveLength(1);
  });
});

describe('the save button', () => {
  test('is shown after a GET for an offer that is not saved yet, and saves it', async () => {
    const offer = await showOneTo(testApp, 'other-user');
    const arrived = local(String((await testApp.app.inject(saveUrlOf(offer))).headers.location));
    const { body } = await open(arrived);
    expect(body).toContain('Save this offer for later?');
    expect(body).toContain(offer.title);
    expect(await storedItems(testApp)).toEqual([]);
    const [token = ''] = formTokens(body, '/wallet/save').concat(
      /action="\/wallet\/save"><input[^>]+value="([^"]+)"/.exec(body)?.[1] ?? '',
    );
    const response = await postForm(testApp, '/wallet/save', { t: token });
    expect(response.statusCode).toBe(303);
    const page = String(response.headers.location);
    expect(page).toMatch(/^\/wallet\?t=[\w-]{63}$/);
    expect((await open(page)).body).toContain(`<h2 dir="auto">${offer.title}</h2>`);
    expect((await open(arrived)).body).not.toContain('Save this offer for later?');
  });

  test("is not shown for another user's offer or an invalid token", async () => {
    const { page } = await saveOneFor(testApp, 'me');
    const theirs = await showTo(testApp, 'you');
    for (const t of [saveUrlOf(theirs[1] as never).split('=')[1], 'nonsense', '']) {
      const { statusCode, body } = await open(`${page}&save=${t}`);
      expect(statusCode).toBe(200);
      expect(body).not.toContain('Save this offer');
    }
  });

  test('rejects invalid tokens', async () => {
    expect((await postForm(testApp, '/wallet/save', { t: 'nonsense' })).statusCode).toBe(400);
    expect((await postForm(testApp, '/wallet/save', {})).statusCode).toBe(400);
  });
});

describe('an invalid link', () => {
  const links = () => ({
    open: createWalletLinks(createSigner(testApp.deps.config.tokenKeys, openPurpose)),
    remove: createWalletLinks(createSigner(testApp.deps.config.tokenKeys, removePurpose)),
  });

  test('gets 400 and a page if it is missing, malformed, altered, repeated or for another purpose', async () => {
    const { page } = await saveOneFor(testApp, 'u');
    const link = page.split('=')[1] as string;
    const claims = {
      publisherId: 999,
      userKey: '00000000-0000-0000-0000-000000000000',
      offerId: 0,
      expiresS: nowMs / 1000 + 1000,
    };
    const bad = [
      '',
      '?t=',
      '?t=nonsense',
      `?t=${link.slice(0, -2)}AA`,
      `?t=${link}&t=${link}`,
      `?t=${links().remove.mint(claims)}`,
      `?t=${links().open.mint(claims)}`,
    ];
    for (const query of bad) {
      const response = await open(`/wallet${query}`);
      expect(response.statusCode, query).toBe(400);
      expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(response.headers['content-security-policy']).toContain("default-src 'none'");
      expect(response.body).toContain('This link does not work');
    }
  });

  test('gets a JSON error if the client does not accept HTML', async () => {
    const response = await testApp.app.inject({
      method: 'GET',
      url: '/wallet?t=nonsense',
      headers: { accept: 'application/json' },
    });
    expect(response.statusCode).toBe(400);
    expect(response.json().error.code).toBe('invalid_token');
  });

  test('expires 30 days after the last possible save', async () => {
    const { page } = await saveOneFor(testApp, 'u');
    nowMs += 60 * dayMs - 5000;
    expect((await open(page)).statusCode).toBe(200);
    nowMs += 10_000;
    expect((await open(page)).statusCode).toBe(400);
  });

  test('is rate-limited per client address with 429', async () => {
    const answers = await Promise.all(
      Array.from({ length: 150 }, () =>
        testApp.app.inject({ method: 'GET', url: '/wallet?t=x', remoteAddress: '10.5.5.5' }),
      ),
    );
    expect(answers.filter(({ statusCode }) => statusCode === 429).length).toBeGreaterThan(20);
  });
});

test('a save link for an offer that cannot be saved shows a page in browsers and an error to programs', async () => {
  const [anonymous] = await showTo(testApp, null);
  const saved = await testApp.app.inject({
    method: 'GET',
    url: `${local(anonymous?.click_url ?? '')}&save_for_later=1`,
  });
  const leadsTo = local(String(saved.headers.location));
  const response = await open(leadsTo);
  expect([response.statusCode, response.headers['content-type']]).toEqual([403, 'text/html; charset=utf-8']);
  expect(response.body).toContain('You cannot save offers here.');
  expect((await testApp.app.inject(leadsTo)).json().error.code).toBe('wallet_not_enabled');
  expect((await open('/wallet/v1/save.json?t=x')).body).toContain('This link does not work');
});

test('the page responds with 403 if the publisher has turned the wallet off', async () => {
  const { page } = await saveOneFor(testApp, 'u');
  await testApp.pool.query('update publishers set wallet_enabled = false');
  await testApp.deps.catalog.refresh();
  const response = await open(page);
  expect(response.statusCode).toBe(403);
  expect(response.body).toContain('You cannot save offers here.');
});
