import { expect, test } from 'vitest';
import { type MacroRules, warnOfMacros } from '../../../src/platform/lib/misspelt-macros.ts';

const landing: MacroRules = {
  names: ['click_id', 'session_id', 'placement', 'offer_id', 'campaign_id', 'publisher_id', 'coupon_code'],
  others: 'emptied',
};
const messages = (query: string, rules: MacroRules = landing): string[] =>
  warnOfMacros('/landing_url', `https://shop.example/${query}`, rules).map(({ path, message }) => {
    expect(path).toBe('/landing_url');
    return String(message);
  });

test.each([
  '{clickid}',
  '{Click_Id}',
  '{CLICK_ID}',
  '{click-id}',
  '{clickID}',
  '{clik_id}',
  '{click_di}',
  '{click}',
  '{subid}',
  '{transaction_id}',
  '{my_click_id}',
])('warns about the misspelt macro %s, which becomes empty, and suggests the nearest name', (macro) => {
  expect(messages(`?c=${macro}`)).toEqual([
    `${macro} is not a valid macro and will be removed. Did you mean {click_id}?`,
  ]);
});

test.each([
  '{{click_id}}',
  '{{ click_id }}',
  '{{clickId|none}}',
  '{click_id|none}',
  '{ click_id }',
  '\u0024{click_id}',
  '#{click_id}',
  '@{click_id}',
  '%{click_id}',
  '%%click_id%%',
  '%%CLICKID%%',
  '%click_id%',
  '[CLICK_ID]',
  '[click id]',
  '<click_id>',
  '#click_id#',
  '@click_id@',
  '__CLICKID__',
  '$click_id',
])('warns about %s, the syntax of another system, and suggests the right one', (macro) => {
  expect(messages(`?c=${macro}`)).toEqual([`${macro} is not a valid macro. Did you mean {click_id}?`]);
});

test.each([
  ['{session}', 'session_id'],
  ['{placment}', 'placement'],
  ['{affiliate_id}', 'publisher_id'],
  ['{campaignid}', 'campaign_id'],
  ['{offer}', 'offer_id'],
  ['{voucher}', 'coupon_code'],
])('%s gets the suggestion {%s}', (macro, suggestion) => {
  expect(messages(`p/${macro}`)).toEqual([
    `${macro} is not a valid macro and will be removed. Did you mean {${suggestion}}?`,
  ]);
});

test('warns about a name that resembles no macro and lists the macros', () => {
  const list = landing.names.map((name) => `{${name}}`).join(', ');
  expect(messages('?x={device_model}&y=[TIMESTAMP]')).toEqual([
    `{device_model} is not a valid macro and will be removed. The available macros are ${list}.`,
    `[TIMESTAMP] is not a valid macro. The available macros are ${list}.`,
  ]);
});

test.each([
  '?c={click_id}&s={session_id}#{placement}',
  '@{placement}',
  '{offer_id}/{campaign_id}?code={coupon_code}',
  '?c=%7Bclickid%7D',
  '?c=%7B%7Bclick_id%7D%7D&d=%24%7Bclick_id%7D&e=%25%25click_id%25%25&f=%5BCLICK_ID%5D',
  '?filter[click_id]=1&items[0]=2&tags[]=3',
  '?price=$20&mail=a@b.example&x=100%25&y=50%20%25',
  '?json={"click":"1"}',
  '?range=[1]&list=[]&t=__utm__&q=a__b__c',
  '#section',
  '?q=<b>bold',
  '?empty={}',
])('does not warn about %s', (query) => {
  expect(messages(query)).toEqual([]);
});

test('warns about every macro in a URL that supports none', () => {
  const plain: MacroRules = { names: [], others: 'sent' };
  expect(messages('?c={click_id}', plain)).toEqual([
    '{click_id} is sent unchanged because this URL does not support macros.',
  ]);
  expect(messages('?filter[a]=1&b=%7Bclick_id%7D', plain)).toEqual([]);
});

test('warns in a URL with custom attributes only about names that resemble a field', () => {
  const postback: MacroRules = { names: ['click_id', 'payout', 'txn_id'], others: 'custom' };
  expect(messages('?a={shop_size}&b={order_id}&c={amount}', postback)).toEqual([
    '{order_id} is not a valid macro and will be removed. Did you mean {txn_id}?',
    '{amount} is not a valid macro and will be removed. Did you mean {payout}?',
  ]);
  expect(messages('?a=%%shop_size%%', postback)).toEqual([
    '%%shop_size%% is not a valid macro. Did you mean {shop_size}?',
  ]);
});

test('limits a URL to five warnings, and checks a hostile one of the maximum length quickly', () => {
  expect(messages(`?${Array.from({ length: 50 }, (_, index) => `a={x${index}}`).join('&')}`)).toHaveLength(5);
  for (const part of ['{', '{{', '[a', '%%a', '${a', '__a', '<a', '@a', '#a', '{a '])
    expect(messages(`?${part.repeat(2000 / part.length)}`).length).toBeLessThanOrEqual(5);
});

test('does not warn about invalid URLs', () => {
  expect(warnOfMacros('/url', null, landing)).toEqual([]);
  expect(warnOfMacros('/url', '{clickid}', landing)).toEqual([]);
});
