import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bookings, clickOffer, createTimedApp, post, track } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let advertiserId: number;
let secret: string;

const secretCall = (method: 'POST' | 'DELETE', id: number | string, key = t.publisher.key) =>
  t.app.inject({ method, url: `/manage/v1/advertisers/${id}/conversion-secret?api_key=${key}` });

beforeAll(async () => {
  t = await createTimedApp();
  const { campaign_id } = await clickOffer(t);
  advertiserId = (await t.pool.query('select advertiser_id from campaigns where id = $1', [campaign_id])).rows[0]
    .advertiser_id;
  const created = await secretCall('POST', advertiserId);
  expect(created.statusCode).toBe(201);
  secret = created.json().data.secret;
});
afterAll(() => t.close());

type Fields = { click_id: string; event?: string; payout?: string; currency?: string; txn_id?: string; void?: string };

const sign = (
  { click_id, event = '', payout = '', currency = '', txn_id = '', void: isVoid }: Fields,
  key = secret,
): string =>
  createHmac('sha256', key)
    .update([click_id, event, payout, currency, txn_id, isVoid === '1' ? 'void' : ''].join('\n'))
    .digest('hex');

const signed = (fields: Fields): Fields & { signature: string } => ({ ...fields, signature: sign(fields) });

describe('if the advertiser has a secret', () => {
  test('a report is accepted only with its signature, and rejected if any part was changed', async () => {
    const { clickId, sessionId } = await clickOffer(t);
    const fields = { click_id: clickId, event: 'purchase', payout: '10', currency: 'USD', txn_id: 'n1' };
    const { signature } = signed(fields);
    const bad = [
      fields,
      { ...fields, signature: '' },
      { ...fields, signature: signature.slice(1) },
      { ...fields, signature: sign(fields, 'another') },
      { ...fields, payout: '99', signature },
      { ...fields, event: 'other', signature },
      { ...fields, txn_id: 'n2', signature },
      { ...fields, currency: 'EUR', signature },
      { ...fields, void: '1', signature },
    ];
    for (const fields of bad) {
      const answer = await track(t, fields);
      expect([fields, answer.statusCode, answer.json().error.code]).toEqual([fields, 401, 'invalid_signature']);
    }
    expect(await bookings(t, sessionId)).toEqual([]);
    expect((await track(t, { ...fields, signature })).json()).toMatchObject({ message: 'recorded' });
    expect((await post(t, { ...fields, signature: signature.toUpperCase() })).json()).toMatchObject({
      message: 'duplicate',
    });
    expect((await track(t, signed({ ...fields, void: '1' }))).json()).toMatchObject({ message: 'recorded' });
  });

  test('the signature can be made with openssl, as the guide shows', async () => {
    const { clickId } = await clickOffer(t);
    const script =
      `printf '%s\\n%s\\n%s\\n%s\\n%s\\n' "$CLICK_ID" purchase 49.90 EUR order-1001 | ` +
      `openssl dgst -sha256 -hmac "$SECRET" | sed 's/^.*= //'`;
    const signature = execFileSync('sh', ['-c', script], {
      env: { ...process.env, CLICK_ID: clickId, SECRET: secret },
      encoding: 'utf8',
    }).trim();
    const fields = {
      click_id: clickId,
      event: 'purchase',
      payout: '49.90',
      currency: 'EUR',
      txn_id: 'order-1001',
      signature,
    };
    expect((await track(t, fields)).json()).toMatchObject({ message: 'recorded' });
  });

  test('a new secret replaces the old one immediately and is stored encrypted', async () => {
    const { clickId } = await clickOffer(t);
    const before = signed({ click_id: clickId, txn_id: 'rotated' });
    secret = (await secretCall('POST', advertiserId)).json().data.secret;
    expect((await track(t, before)).statusCode).toBe(401);
    expect((await track(t, signed({ click_id: clickId, txn_id: 'rotated' }))).json()).toMatchObject({
      message: 'recorded',
    });
    const { rows } = await t.pool.query('select conversion_secret_sealed from advertisers where id = $1', [
      advertiserId,
    ]);
    expect(rows[0].conversion_secret_sealed.toString('latin1')).not.toContain(secret);
  });
});

test('a publisher can set secrets only for its own advertisers', async () => {
  for (const id of [999_999, 0, -1, '9'.repeat(15), 'x']) {
    const answer = await secretCall('POST', id);
    expect([id, answer.statusCode, answer.json().error.code]).toEqual([id, 404, 'advertiser_not_found']);
  }
  expect((await secretCall('POST', advertiserId, t.publisher.sdkId)).statusCode).toBe(403);
});

test('reports need no signature again once the secret is removed', async () => {
  expect((await secretCall('DELETE', advertiserId)).statusCode).toBe(200);
  const { clickId } = await clickOffer(t);
  expect((await track(t, { click_id: clickId })).json()).toMatchObject({ message: 'recorded' });
});
