import { afterAll, beforeAll, expect, test } from 'vitest';
import { brandColours } from '../../src/catalog/themes.ts';
import { renderMessage, renderQuestion } from '../../src/messages/template.ts';
import { inLanguage } from '../../src/platform/i18n/reader.ts';
import { publisherWith } from '../decision/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, newContext, openBrowser } from '../support/browser.ts';

let browser: Awaited<ReturnType<typeof openBrowser>>;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => closeContexts(browser));

const perk = {
  title: 'Two nights by the sea &amp; breakfast',
  description: 'A small hotel, breakfast on the terrace and a late Sunday checkout.',
  advertiser: 'Tidewander <Stays>',
  url: 'https://perks.test/sdk/offer-click?t=1',
  coupon: { code: 'A-VERY-LONG-CODE-'.repeat(6), expires_at: '2031-01-31T12:00:00.000Z', terms: 'Once a person' },
};
const perks = [
  perk,
  { ...perk, coupon: null },
  { ...perk, coupon: undefined, url: '', endsAt: '2031-01-31T12:00:00Z' },
];
const brand = brandColours(publisherWith([]));
const about = { publisher: 'Shop\r\nBcc: x', brand, kind: 'perks' as const, timeZone: 'UTC' };
const unsubscribeUrl = 'https://perks.test/messages/unsubscribe';
const mails = {
  perks: () => renderMessage({ ...about, perks, unsubscribeUrl }),
  reminder: () => renderMessage({ ...about, kind: 'reminder', perks: perks.slice(2), unsubscribeUrl }),
  question: () => renderQuestion({ ...about, confirmUrl: 'https://perks.test/messages/confirm?t=1' }),
};

/** Converts `rgb(…)` from a computed style to `#rrggbb`. */
const hexOf = (rgb: string): string =>
  `#${(rgb.match(/\d+/g) ?? []).map((channel) => Number(channel).toString(16).padStart(2, '0')).join('')}`;

const variants = (['en', 'ar'] as const).flatMap((language) =>
  ([320, 600] as const).flatMap((width) => (['light', 'dark'] as const).map((scheme) => ({ language, width, scheme }))),
);

test.each(variants)('e-mails in $language at $width px ($scheme) are fully visible and readable', async (variant) => {
  const { language, width, scheme } = variant;
  const context = await newContext(browser, { viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  for (const [kind, write] of Object.entries(mails)) {
    await page.setContent(inLanguage(language, write).html);
    const sizes = await page.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      background: getComputedStyle(document.body).backgroundColor,
      direction: getComputedStyle(document.body).direction,
      edges: [...document.querySelectorAll('h1, h2, p')].map((text) => getComputedStyle(text).textAlign),
    }));
    expect(sizes.width).toBe(width);
    expect(hexOf(sizes.background)).toBe(brand[scheme].surface.toLowerCase());
    expect(sizes.direction).toBe(language === 'ar' ? 'rtl' : 'ltr');
    expect([...new Set(sizes.edges)]).toEqual([language === 'ar' ? 'right' : 'left']);
    expect(await violations(page, { rules: ['color-contrast', 'html-has-lang', 'link-name', 'image-alt'] })).toEqual(
      [],
    );
    const folder = process.env.SCREENSHOTS;
    if (folder !== undefined)
      await page.screenshot({ path: `${folder}/mail-${kind}-${language}-${width}-${scheme}.png` });
  }
  await context.close();
});

test('an e-mail with ten perks is under 100 kB and has a one-line subject and a text part', () => {
  const many = Array.from({ length: 10 }, () => perk);
  const { subject, html, text } = renderMessage({ ...about, perks: many, unsubscribeUrl: 'https://x' });
  expect(html.length + text.length).toBeLessThan(100_000);
  expect(subject).toBe('Shop Bcc: x: Your 10 perks');
  expect(text).toContain('Two nights by the sea & breakfast (Tidewander <Stays>)');
  expect(html).not.toMatch(/<(script|link|img|form|div|svg)\b/);
  expect(html).toContain('Tidewander &lt;Stays&gt;');
});

test("shows the last valid day of a code in the publisher's time zone", () => {
  const untilOf = (expires_at: string, timeZone: string): string => {
    const { text, html } = renderMessage({
      ...about,
      timeZone,
      unsubscribeUrl,
      perks: [{ ...perk, coupon: { ...perk.coupon, expires_at } }],
    });
    const [until = ''] = /Valid until .*/.exec(text) ?? [];
    expect(html).toContain(until);
    return until;
  };
  expect(untilOf('2031-02-01T04:59:59.000Z', 'America/New_York')).toBe('Valid until 31 January 2031');
  expect(untilOf('2031-02-01T05:00:00.000Z', 'America/New_York')).toBe('Valid until 31 January 2031');
  expect(untilOf('2031-01-31T15:00:00.001Z', 'Asia/Tokyo')).toBe('Valid until 1 February 2031');
});
