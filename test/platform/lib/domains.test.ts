import { expect, test } from 'vitest';
import { publicSuffixes, registeredDomain } from '../../../src/platform/lib/domains.ts';

test.each([
  ['www.shop.com', 'shop.com'],
  ['SHOP.com.', 'shop.com'],
  ['a.b.shop.co.uk', 'shop.co.uk'],
  ['other.co.uk', 'other.co.uk'],
  ['www.shop.com.au', 'shop.com.au'],
  ['m.shop.kawasaki.jp', 'm.shop.kawasaki.jp'],
  ['www.xn--bcher-kva.de', 'xn--bcher-kva.de'],
  ['www.shop.xn--55qx5d.cn', 'shop.xn--55qx5d.cn'],
  ['docs.one.github.io', 'one.github.io'],
  ['two.myshopify.com', 'two.myshopify.com'],
  ['github.io', 'github.io'],
  ['my_shop.com', 'my_shop.com'],
  ['203.0.113.9', '203.0.113.9'],
  ['2001:db8::1', '2001:db8::1'],
  ['localhost', 'localhost'],
])('the registered domain of %s is %s', async (host, domain) => {
  expect(await registeredDomain(host)).toBe(domain);
});

test.each([
  ['com', true],
  ['co.uk', true],
  ['com.au', true],
  ['xn--55qx5d.cn', true],
  ['shop.co.uk', false],
  // A single company assigns the names below this domain, so the domain may be blocked as a whole.
  ['github.io', false],
  ['example', false],
  ['203.0.113.9', false],
])('anyone can register names below %s: %s', async (host, isOne) => {
  expect((await publicSuffixes())(host)).toBe(isOne);
});
