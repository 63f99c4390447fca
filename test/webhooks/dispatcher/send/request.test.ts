import { describe, expect, test } from 'vitest';
import { buildRequest, type Message, maxUrlBytes } from '../../../../src/webhooks/dispatcher/send/request.ts';
import { payloadOf } from '../support.ts';

const message: Message = {
  deliveryId: '0197a000-0000-7000-8000-00000000abcd',
  event: 'usp.selection',
  url: 'https://shop.example/hook',
  method: 'GET',
  payload: payloadOf(),
  secrets: [Buffer.alloc(32, 1)],
  nowMs: 1_700_000_000_999,
  dev: false,
  test: false,
  payloadUrl: () => 'https://perks.example/p?t=token',
};

test('the timestamp is in whole seconds, and the ID contains the digits of the delivery ID', () => {
  const { headers } = buildRequest(message);
  expect(headers['webhook-timestamp']).toBe('1700000000');
  expect(headers['webhook-id']).toBe('msg_0197a00000007000800000000000abcd');
});

test('a test delivery and a dev delivery are marked', () => {
  expect(buildRequest({ ...message, test: true, dev: true }).headers).toMatchObject({
    'perkwire-test': '1',
    'perkwire-dev': '1',
  });
});

describe('GET', () => {
  test('encodes spaces as %20 and sends no fragment', () => {
    const { url } = buildRequest({ ...message, url: 'https://shop.example/hook?x=a+b#part' });
    expect(url).toMatch(/^https:\/\/shop\.example\/hook\?x=a\+b&pub_user_id=[^+]*%20%26%201&/);
    expect(url).not.toContain('#');
  });

  test('sends a payload of up to 8,000 bytes in the URL, and a link to a longer one', () => {
    const urlFor = (length: number) => buildRequest({ ...message, payload: payloadOf([1], 'x'.repeat(length)) }).url;
    const room = maxUrlBytes - urlFor(0).length;
    expect(urlFor(room)).toHaveLength(maxUrlBytes);
    expect(new URL(urlFor(room)).searchParams.has('payload_url')).toBe(false);
    const longer = new URL(urlFor(room + 1)).searchParams;
    expect([longer.has('payload'), longer.get('payload_url'), longer.get('campaign_ids')]).toEqual([
      false,
      'https://perks.example/p?t=token',
      '1',
    ]);
  });

  test('sends a delivery even if a name contains an unpaired surrogate', () => {
    const payload = Buffer.from(
      JSON.stringify({ body: { pub_user_id: 'a\ud800', selected: 0, session_id: 's', campaigns: [] } }),
    );
    const query = new URL(buildRequest({ ...message, payload }).url).searchParams;
    expect([query.get('pub_user_id'), query.get('selected'), query.get('campaign_ids')]).toEqual(['a\ufffd', '0', '']);
    expect(query.get('payload')).toBe(payload.toString());
  });
});
