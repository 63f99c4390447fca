import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { createClickIdCodec } from '../../../src/tracking/clicks/click-id.ts';
import { googlebot, showOffer, tokenOf } from '../journey.ts';
import { bookings, clickIdOf, clickOffer, createTimedApp, post, setCampaign, track } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
beforeAll(async () => {
  t = await createTimedApp();
});
afterAll(() => t.close());

describe('a conversion', () => {
  test('is recorded with its amount to the last millionth, and a repeat is a duplicate', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    const fields = { click_id: clickId, event: 'purchase', payout: '12.345678', currency: 'usd', txn_id: 'T-1' };
    const first = await track(t, fields);
    const booked = {
      event: 'purchase',
      payout: 12.345678,
      unbilled: 0,
      unbilled_reason: null,
      currency: 'USD',
      loyalty_amount: first.json().data.loyalty_amount,
    };
    expect([first.statusCode, first.json()]).toEqual([200, { message: 'recorded', data: booked }]);
    expect(first.headers['cache-control']).toBe('no-store');
    const second = await track(t, fields);
    expect([second.statusCode, second.json()]).toEqual([200, { message: 'duplicate', data: booked }]);
    expect(await bookings(t, sessionId)).toEqual([
      {
        event: 'purchase',
        txn_id: 'T-1',
        void: false,
        given_micros: '12345678',
        payout_micros: '12345678',
        currency: 'USD',
        loyalty_micros: expect.any(String),
        suspicious: null,
      },
    ]);
  });

  test("returns a loyalty amount of the payout times the publisher's multiplier", async () => {
    await t.pool.query('update publishers set currency_multiplier = 12.5');
    const { clickId, campaign_id } = await clickOffer(t);
    await setCampaign(t, campaign_id, { is_loyalty: true });
    const fields = { click_id: clickId, payout: '2', currency: 'USD', txn_id: 'loyal' };
    const amounts = { payout: 2, unbilled: 0, unbilled_reason: null, currency: 'USD', loyalty_amount: 25 };
    const data = { event: 'conversion', ...amounts };
    expect((await track(t, fields)).json()).toEqual({ message: 'recorded', data });
    expect((await track(t, { click_id: clickId, txn_id: 'loyal' })).json()).toEqual({ message: 'duplicate', data });
    expect((await track(t, { ...fields, void: '1' })).json()).toEqual({
      message: 'recorded',
      data: { ...data, payout: -2, loyalty_amount: -25 },
    });
  });

  test.each([
    ['amount', 'payout'],
    ['Payout', 'payout'],
    ['pay-out', 'payout'],
    ['payot', 'payout'],
    ['paoyut', 'payout'],
    ['sale_amount', 'payout'],
    ['transaction_id', 'txn_id'],
    ['txnId', 'txn_id'],
    ['curency', 'currency'],
    ['events', 'event'],
  ])('400: %s is rejected with the hint %s in the query and in the body', async (name, parameter) => {
    const { clickId, sessionId } = await clickOffer(t);
    const message = `Unknown parameter. Did you mean ${parameter}?`;
    for (const reply of [
      await track(t, { click_id: clickId, [name]: '5' }),
      await post(t, { click_id: clickId, [name]: '5' }),
    ]) {
      expect(reply.statusCode).toBe(400);
      expect(reply.json().error.details).toEqual([{ path: `/${name}`, message }]);
    }
    expect(await bookings(t, sessionId)).toEqual([]);
  });

  test("may have the advertiser's own parameters, and other names in addition to the right ones", async () => {
    const { clickId } = await clickOffer(t);
    const own = { cb: '123', utm_source: 'x', amount: '9', order_id: '7', void_reason: '', v: '2', status: 'ok' };
    const reply = await track(t, { click_id: clickId, payout: '5', txn_id: 'own', ...own });
    expect(reply.json()).toMatchObject({ message: 'recorded', data: { payout: 5 } });
  });

  test.each([
    ['/track/', 'click_id', 'GET'],
    ['/track/', 'click_id', 'POST'],
    ['/track', 'adpx_click_id', 'GET'],
    ['/track', 'adpx_click_id', 'POST'],
    ['/track/', 'adpx_click_id', 'GET'],
    ['/track/', 'adpx_click_id', 'POST'],
    ['/track.png', 'adpx_click_id', 'GET'],
  ] as const)('%s with %s by %s is the same conversion as the documented call', async (path, name, method) => {
    const { clickId, sessionId } = await clickOffer(t);
    const fields = { [name]: clickId, event: 'sale', payout: '5', currency: 'USD', txn_id: 'old' };
    const first =
      method === 'GET' ? await track(t, fields, path) : await t.app.inject({ method, url: path, payload: fields });
    expect(first.statusCode, first.body).toBe(200);
    expect((await track(t, { ...fields, [name]: '', click_id: clickId })).json().message).toBe('duplicate');
    expect(await bookings(t, sessionId)).toHaveLength(1);
  });

  test('uses the documented click ID if two are sent, and HEAD counts nothing at either path', async () => {
    const [first, other] = [await clickOffer(t), await clickOffer(t)];
    await track(t, { click_id: first.clickId, adpx_click_id: other.clickId, payout: '1' }, '/track/');
    expect([await bookings(t, first.sessionId), await bookings(t, other.sessionId)]).toMatchObject([[{}], []]);
    for (const path of ['/track', '/track/'])
      await t.app.inject({ method: 'HEAD', url: `${path}?click_id=${other.clickId}&payout=1` });
    expect(await bookings(t, other.sessionId)).toEqual([]);
  });

  test('may be reported by query, form or JSON as the same conversion', async () => {
    const { clickId } = await clickOffer(t);
    const form = await t.app.inject({
      method: 'POST',
      url: '/track',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: `click_id=${clickId}&event=sale&payout=5.50&currency=USD&txn_id=77`,
    });
    expect(form.json()).toMatchObject({ message: 'recorded' });
    expect(
      (await post(t, { click_id: clickId, event: 'sale', payout: 5.5, currency: 'USD', txn_id: 77 })).json(),
    ).toMatchObject({ message: 'duplicate' });
    expect(
      (await track(t, { click_id: clickId, event: 'sale', payout: '5.5', currency: 'USD', txn_id: '77' })).json(),
    ).toMatchObject({ message: 'duplicate' });
  });

  test('counts once for each event and each transaction of a click', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    for (const [event, txn_id] of [
      ['signup', ''],
      ['purchase', 'A'],
      ['purchase', 'B'],
      ['signup', ''],
      ['purchase', 'A'],
    ] as const) {
      t.clock.ms += 1;
      expect((await track(t, { click_id: clickId, event, txn_id })).statusCode).toBe(200);
    }
    expect((await bookings(t, sessionId)).map(({ event, txn_id }) => [event, txn_id])).toEqual([
      ['signup', null],
      ['purchase', 'A'],
      ['purchase', 'B'],
    ]);
  });

  test('keeps its first amount and rejects the same transaction with another amount or currency', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    await track(t, { click_id: clickId, payout: '10', currency: 'USD', txn_id: 'x' });
    for (const other of [
      { payout: '10.000001', currency: 'USD' },
      { payout: '10', currency: 'EUR' },
    ]) {
      const answer = await track(t, { click_id: clickId, txn_id: 'x', ...other });
      expect([answer.statusCode, answer.json().error.code]).toEqual([409, 'conversion_conflict']);
    }
    expect((await bookings(t, sessionId)).map((row) => row.payout_micros)).toEqual(['10000000']);
  });

  test("pays the campaign's payout if the report has no amount", async () => {
    const fixed = await clickOffer(t);
    await setCampaign(t, fixed.campaign_id, { payout_kind: 'cpa', payout_amount: '7.25', payout_currency: 'GBP' });
    await track(t, { click_id: fixed.clickId });
    expect(await bookings(t, fixed.sessionId)).toMatchObject([
      { event: 'conversion', payout_micros: '7250000', currency: 'GBP', given_micros: null },
    ]);
    await setCampaign(t, fixed.campaign_id, { payout_kind: 'cpc', payout_currency: 'USD' });
    t.clock.ms += 1;
    await track(t, { click_id: fixed.clickId, event: 'later' });
    expect((await bookings(t, fixed.sessionId))[1]).toMatchObject({ payout_micros: '0', currency: 'USD' });
  });

  test('earns a share of the sale if the campaign pays one, and then needs the sale amount', async () => {
    const { clickId, sessionId, campaign_id } = await clickOffer(t);
    await setCampaign(t, campaign_id, { payout_amount: '8.5', payout_kind: 'cps' });
    const without = await track(t, { click_id: clickId });
    expect([without.statusCode, without.json().error.code]).toEqual([400, 'invalid_request']);
    await track(t, { click_id: clickId, payout: '199.99' });
    expect(await bookings(t, sessionId)).toMatchObject([{ given_micros: '199990000', payout_micros: '16999150' }]);
    await setCampaign(t, campaign_id, { payout_kind: 'cpc' });
  });

  test('is accepted up to 30 days after the click, and not a moment later', async () => {
    const click = await clickOffer(t);
    const clickedMs = t.clock.ms;
    t.clock.ms = clickedMs + 30 * dayMs;
    expect((await track(t, { click_id: click.clickId, txn_id: 'in time' })).json()).toMatchObject({
      message: 'recorded',
    });
    t.clock.ms += 1;
    const late = await track(t, { click_id: click.clickId, txn_id: 'late' });
    expect([late.statusCode, late.json().error.code]).toEqual([404, 'click_expired']);
    t.clock.ms = clickedMs;
  });

  test('is booked once, whether it is reported alone or with others, and however old its click is', async () => {
    const clickedMs = t.clock.ms;
    const first = await clickOffer(t);
    const report = ({ clickId }: { clickId: string }, txn_id: string) =>
      track(t, { click_id: clickId, txn_id }).then((answer) => answer.json().message);
    t.clock.ms = clickedMs + dayMs;
    const second = await clickOffer(t);
    const reportBoth = (txnId: string) => Promise.all([first, second].map((click) => report(click, txnId)));
    expect(await reportBoth('day 1')).toEqual(['recorded', 'recorded']);
    t.clock.ms += dayMs;
    expect(await reportBoth('day 1')).toEqual(['duplicate', 'duplicate']);
    expect(await reportBoth('day 2')).toEqual(['recorded', 'recorded']);
    t.clock.ms = clickedMs;
    for (const click of [first, second])
      expect(await bookings(t, click.sessionId)).toMatchObject([{ txn_id: 'day 1' }, { txn_id: 'day 2' }]);
  });

  test('is rejected if its click ID is unknown, altered or missing', async () => {
    const { clickId } = await clickOffer(t);
    const offer = await showOffer(t);
    const neverClicked = createClickIdCodec(t.deps.config.tokenKeys).mint({
      sessionId: offer.sessionId,
      offerId: offer.id,
    });
    const changed = (clickId[0] === 'A' ? 'B' : 'A') + clickId.slice(1);
    for (const click_id of [
      changed,
      clickId.slice(1),
      `${clickId}A`,
      neverClicked,
      tokenOf(offer.click_url),
      "' or 1=1 --",
    ]) {
      const answer = await track(t, { click_id });
      expect([click_id, answer.statusCode, answer.json().error.code]).toEqual([click_id, 404, 'click_not_found']);
    }
    expect((await track(t, {})).json().error.details).toEqual([
      { path: '/click_id', message: 'This field is required.' },
    ]);
  });

  test('is rejected if its amount is inexact, and nothing is written', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    for (const payout of [
      '-1',
      '1e3',
      'NaN',
      'Infinity',
      '1.2345678',
      '1000000000',
      '1,5',
      '0x10',
      '+1',
      '{payout}',
      '٣',
    ])
      expect([payout, (await track(t, { click_id: clickId, payout })).statusCode]).toEqual([payout, 400]);
    for (const body of [
      { payout: -0.5 },
      { payout: 1e-7 },
      { payout: null },
      { payout: [1] },
      { event: 'a\0b' },
      { txn_id: 'x'.repeat(129) },
      { event: {} },
    ])
      expect((await post(t, { click_id: clickId, ...body })).statusCode).toBe(400);
    for (const currency of ['XXX', 'US', 'EURO', '€'])
      expect([currency, (await track(t, { click_id: clickId, currency })).statusCode]).toEqual([currency, 400]);
    expect(
      (await t.app.inject({ method: 'GET', url: `/track?click_id=${clickId}&payout=1&payout=2` })).statusCode,
    ).toBe(400);
    expect(await bookings(t, sessionId)).toEqual([]);
  });

  test('stores any text of an event and a transaction unchanged', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    await post(t, { click_id: clickId, event: 'Kauf “größer”', txn_id: '\ud800Ж/ñ' });
    expect(await bookings(t, sessionId)).toMatchObject([{ event: 'Kauf “größer”', txn_id: '\ufffdЖ/ñ' }]);
  });

  test('is stored unpaid with the reason for a bot, a scanned code or a click without an impression', async () => {
    const bot = await clickOffer(t, {}, { 'user-agent': googlebot });
    const unseen = await showOffer(t);
    const unseenClick = await clickIdOf(t, unseen.click_url);
    const qrToken = t.deps.tokens.mint({
      publisherId: t.publisher.id,
      sessionId: null,
      offerId: unseen.id,
      campaignId: unseen.campaign_id,
      position: 0,
      dev: false,
    });
    const scanned = await clickIdOf(t, `/sdk/offer-click?t=${qrToken}`);
    for (const click_id of [bot.clickId, unseenClick, scanned])
      expect((await track(t, { click_id, payout: '9', txn_id: 'suspicious' })).json()).toMatchObject({
        message: 'recorded',
      });
    const rows = (await bookings(t)).filter((row) => row.txn_id === 'suspicious');
    expect(rows.map((row) => [row.suspicious, row.given_micros, row.payout_micros]).toSorted()).toEqual([
      ['bot', '9000000', '0'],
      ['no_impression', '9000000', '0'],
      ['qr', '9000000', '0'],
    ]);
  });

  test('gets the usual response and is not stored in a dev session', async () => {
    const offer = await showOffer(t, { dev: 1 });
    const clickId = await clickIdOf(t, offer.click_url);
    for (const fields of [{}, {}, { void: '1' }])
      expect((await track(t, { click_id: clickId, payout: '3', ...fields })).json()).toMatchObject({
        message: 'recorded',
      });
    expect((await track(t, { click_id: clickId, payout: 'much' })).statusCode).toBe(400);
    expect(await bookings(t, offer.sessionId)).toEqual([]);
  });

  test('is limited to 200 per click', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    await Promise.all(Array.from({ length: 200 }, (_, index) => track(t, { click_id: clickId, txn_id: `n${index}` })));
    const answer = await track(t, { click_id: clickId, txn_id: 'one more' });
    expect([answer.statusCode, answer.json().error.code]).toEqual([409, 'too_many_conversions']);
    expect((await track(t, { click_id: clickId, txn_id: 'n0' })).json()).toMatchObject({ message: 'duplicate' });
    expect(await bookings(t, sessionId)).toHaveLength(200);
  });

  test('can be tested with a HEAD request, which records nothing', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    expect((await t.app.inject({ method: 'HEAD', url: `/track?click_id=${clickId}` })).statusCode).toBe(405);
    expect(await bookings(t, sessionId)).toEqual([]);
  });
});

describe('a void', () => {
  test('reverses a conversion once by a negative row and leaves the conversion unchanged', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    const fields = { click_id: clickId, event: 'purchase', txn_id: 'v', payout: '40.01', currency: 'USD' };
    await track(t, fields);
    t.clock.ms += 40 * dayMs;
    expect((await track(t, { click_id: clickId, event: 'purchase', txn_id: 'v', void: '1' })).json()).toMatchObject({
      message: 'recorded',
    });
    expect((await post(t, { click_id: clickId, event: 'purchase', txn_id: 'v', status: 'VOID' })).json()).toMatchObject(
      { message: 'duplicate' },
    );
    t.clock.ms -= 40 * dayMs;
    expect((await track(t, fields)).json()).toMatchObject({ message: 'duplicate' });
    expect((await bookings(t, sessionId)).map((row) => [row.void, row.payout_micros])).toEqual([
      [false, '40010000'],
      [true, '-40010000'],
    ]);
  });

  test.each(['yes', '2', 'VOIDED', 'no'])('void=%s → 400, and nothing is booked', async (text) => {
    const { clickId, sessionId } = await clickOffer(t);
    const fields = { click_id: clickId, event: 'purchase', txn_id: 'v', void: text.slice(0, 5) };
    for (const response of [await track(t, fields), await post(t, fields)]) {
      expect(response.statusCode).toBe(400);
      expect(response.json().error.details).toEqual([
        { path: '/void', message: 'The value must be 1, 0, true or false.' },
      ]);
    }
    expect(await bookings(t, sessionId)).toEqual([]);
  });

  test('is rejected for a conversion that was never recorded or has another amount', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    await track(t, { click_id: clickId, txn_id: 'a', payout: '5' });
    const unknown = await track(t, { click_id: clickId, txn_id: 'b', void: '1' });
    expect([unknown.statusCode, unknown.json().error.code]).toEqual([404, 'conversion_not_found']);
    const other = await track(t, { click_id: clickId, txn_id: 'a', void: 'true', payout: '4' });
    expect([other.statusCode, other.json().error.code]).toEqual([409, 'conversion_conflict']);
    expect(await bookings(t, sessionId)).toHaveLength(1);
  });
});

describe('the tracking image', () => {
  test('records like the call and returns the image, with the error status of a rejection', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    const good = await track(t, { click_id: clickId, event: 'seen', payout: '1' }, '/track.png');
    expect([good.statusCode, good.headers['content-type'], good.headers['cache-control']]).toEqual([
      200,
      'image/png',
      'no-store',
    ]);
    for (const [fields, status] of [
      [{ click_id: clickId, event: 'seen', payout: '2' }, 409],
      [{ click_id: 'x' }, 404],
      [{ click_id: clickId, payout: '-1' }, 400],
      [{ click_id: 'y'.repeat(200) }, 400],
    ] as const) {
      const answer = await track(t, fields, '/track.png');
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([status, 'image/png']);
      expect(answer.rawPayload.equals(good.rawPayload)).toBe(true);
    }
    expect(await bookings(t, sessionId)).toHaveLength(1);
  });

  test('records nothing for a browser prefetch', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    const headers = { 'sec-purpose': 'prefetch;prerender' };
    expect((await t.app.inject({ method: 'GET', url: `/track.png?click_id=${clickId}`, headers })).statusCode).toBe(
      200,
    );
    expect(await bookings(t, sessionId)).toEqual([]);
  });
});

test('guessing click IDs is rate-limited, and errors have the usual format', async () => {
  const statuses = await Promise.all(
    Array.from({ length: 140 }, async () => (await track(t, { click_id: 'guess' })).statusCode),
  );
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(20);
  expect(statuses.filter((status) => status === 404).length).toBeGreaterThan(50);
  t.clock.ms += 60_000;
});
