import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Target, targetUrl } from '../../../../src/webhooks/dispatcher/send/request.ts';
import { payloadOf } from '../support.ts';

const conversion = {
  event: 'purchase',
  click_id: 'C-1',
  offer_id: 7,
  payout: 12.5,
  currency: 'EUR',
  is_loyalty: false,
  txn_id: null,
  payload: { subid: 'a b&c=ü', 'order.id': 'O/1', payout: '999', payload: 'mine' },
};
const bytesOf = (value: object): Buffer => Buffer.from(JSON.stringify(value));

const urlOf = (url: string, overrides: Partial<Target> = {}): string =>
  targetUrl({
    event: 'conversion',
    method: 'GET',
    payload: bytesOf(conversion),
    payloadUrl: () => 'https://perks.example/p',
    url,
    ...overrides,
  });

describe('macros in an endpoint URL', () => {
  test('are replaced with percent-encoded payload fields and custom keys, and nothing else is added', () => {
    const url =
      'https://t.example/{offer_id}/pb?a=1&cid={click_id}&p={payout}&cur={currency}' +
      '&s={subid}&o={order.id}&l={is_loyalty}';
    expect(urlOf(url)).toBe('https://t.example/7/pb?a=1&cid=C-1&p=12.5&cur=EUR&s=a%20b%26c%3D%C3%BC&o=O%2F1&l=false');
  });

  test('never use a custom key in place of a built-in field', () => {
    expect(urlOf('https://t.example/?p={payout}&e={event}')).toBe('https://t.example/?p=12.5&e=purchase');
  });

  test('are removed if they are unknown or empty', () => {
    expect(urlOf('https://t.example/?x={nothing}&t={txn_id}&c={constructor}&d={__proto__}')).toBe(
      'https://t.example/?x=&t=&c=&d=',
    );
  });

  test('include {payload} for the signed text', () => {
    expect(new URL(urlOf('https://t.example/?all={payload}')).searchParams.get('all')).toBe(JSON.stringify(conversion));
  });

  test('are also replaced for POST', () => {
    expect(urlOf('https://t.example/{offer_id}', { method: 'POST' })).toBe('https://t.example/7');
  });

  test('do not remove the parameters of a selection sent by GET', () => {
    const url = urlOf('https://t.example/{selected}?u={pub_user_id}', { event: 'usp.selection', payload: payloadOf() });
    const { pathname, searchParams } = new URL(url);
    expect(pathname).toBe('/1');
    expect([...searchParams.keys()]).toEqual(['u', 'pub_user_id', 'selected', 'session_id', 'campaign_ids', 'payload']);
  });

  test('cannot change the origin or leave the path with any value', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '..',
        '.',
        '../../x',
        '%2e%2e',
        '@evil.example',
        '//evil.example',
        '\\\\evil',
        '\0',
        '\ud800',
        '#',
        '?a=b',
        '{payout}',
        '\r\n',
      ),
    );
    fc.assert(
      fc.property(hostile, (subid) => {
        const payload = bytesOf({ payload: { subid } });
        const url = new URL(urlOf('https://t.example/in/{subid}/end?s={subid}&z=1', { payload }));
        expect([url.origin, url.username, url.hash]).toEqual(['https://t.example', '', '']);
        expect(url.pathname.startsWith('/in/')).toBe(true);
        expect(url.pathname.endsWith('/end')).toBe(true);
        expect(url.searchParams.get('z')).toBe('1');
        expect(url.searchParams.get('s')).toBe(subid.toWellFormed());
      }),
    );
  });
});

describe('GET without macros', () => {
  test('contains each field and the signed payload', () => {
    const query = new URL(urlOf('https://t.example/pb?a=1')).searchParams;
    expect(Object.fromEntries(query)).toEqual({
      a: '1',
      event: 'purchase',
      click_id: 'C-1',
      offer_id: '7',
      payout: '12.5',
      currency: 'EUR',
      is_loyalty: 'false',
      txn_id: '',
      payload: JSON.stringify(conversion),
    });
  });

  test('replaces the payload and long fields with a link beyond 8,000 bytes', () => {
    const long = { event: 'offer_saved', offer_id: 7, tnc: 'x'.repeat(9000) };
    const url = urlOf('https://t.example/', { event: 'offer_saved', payload: bytesOf(long) });
    expect(url).toBe('https://t.example/?event=offer_saved&offer_id=7&payload_url=https%3A%2F%2Fperks.example%2Fp');
  });
});

test('POST without macros uses the URL unchanged', () => {
  expect(urlOf('https://t.example/%7Bx%7D?y={not a macro}', { method: 'POST' })).toBe(
    'https://t.example/%7Bx%7D?y={not a macro}',
  );
});
