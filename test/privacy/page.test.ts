import { afterAll, beforeAll, expect, test } from 'vitest';
import { html } from '../../src/platform/http/html.ts';
import { languages } from '../../src/platform/i18n/languages.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

const page = (sdkId = t.publisher.sdkId) => t.app.inject({ method: 'GET', url: `/privacy/${sdkId}` });

async function setPublisher(columns: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(columns))
    await t.pool.query(`update publishers set ${name} = $1 where id = $2`, [value, t.publisher.id]);
  await t.deps.catalog.refresh();
}

test('the default page states which data is stored, for how long, and how to make a request', async () => {
  await setPublisher({ name: 'Tom & <Jerry>' });
  const answer = await page();
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
  for (const text of ['Tom &amp; &lt;Jerry&gt;', '90 days', '30 days', 'Global Privacy Control', 'deleted'])
    expect(answer.body).toContain(text);
  expect(answer.body).not.toContain('<Jerry>');
});

const languageTags = Object.keys(languages) as (keyof typeof languages)[];
const setMessages = (settings: object) =>
  t.app.inject({
    method: 'PATCH',
    url: `/manage/v1/perk-messages/settings?api_key=${t.publisher.key}`,
    payload: settings,
  });

test('it explains e-mail storage and unsubscription only if the publisher sends messages', async () => {
  const texts = async (language: keyof typeof languages) => {
    const { body } = await t.app.inject({ url: `/privacy/${t.publisher.sdkId}?language=${language}` });
    const { privacy } = languages[language].texts.endUser;
    const { email, choiceEmail, notStoredAsked } = privacy;
    return [email, choiceEmail, notStoredAsked].map((text) => body.includes(String(html`${text}`.markup)));
  };
  for (const language of languageTags)
    expect([language, await texts(language)]).toEqual([language, [false, false, true]]);
  expect((await setMessages({ enabled: true })).statusCode).toBe(200);
  for (const language of languageTags)
    expect([language, await texts(language)]).toEqual([language, [true, true, false]]);
  expect((await page()).body).toContain('up to 7 more days');
  // Reminder addresses may be stored until the reminder is due.
  expect((await setMessages({ enabled: false })).statusCode).toBe(200);
  expect(await texts('en')).toEqual([true, true, false]);
});

test.each(languageTags)('in %s it has no unfilled placeholder', async (language) => {
  const { body } = await t.app.inject({ url: `/privacy/${t.publisher.sdkId}?language=${language}` });
  expect(body.slice(body.indexOf('<main>'))).not.toMatch(/[{}]/);
  for (const days of [90, 30, 7]) expect(body).toMatch(new RegExp(`\\b${days}\\b`));
});

test("the publisher's own text replaces the default, with its paragraphs and line breaks", async () => {
  await setPublisher({ privacy_text: 'We & you.\n\nSecond <3\nline. <script>alert(1)</script>' });
  const { body } = await page();
  expect(body).toContain(
    '<p dir="auto">We &amp; you.</p>\n<p dir="auto">Second &lt;3<br>line. &lt;script&gt;alert(1)&lt;/script&gt;</p>',
  );
  for (const other of ['<script', '90 days']) expect(body).not.toContain(other);
});

test('the page of an unknown publisher is not found', async () => {
  for (const sdkId of ['0000000000000000', 'x', '%00']) expect((await page(sdkId)).statusCode).toBe(404);
});

test.each([
  ['he-IL', 'lang="he" dir="rtl"'],
  ['fa', 'lang="en" dir="rtl"'],
  ['ckb', 'lang="en" dir="rtl"'],
  ['az-Arab', 'lang="en" dir="rtl"'],
  ['nqo', 'lang="en" dir="rtl"'],
  ['dv', 'lang="en" dir="rtl"'],
  ['az', 'lang="en" dir="ltr"'],
  ['zh-TW', 'lang="zh-Hant" dir="ltr"'],
  ['it-CH', 'lang="it" dir="ltr"'],
])(
  'a reader of %s gets the available translation in the text direction of its script',
  async (language, attributes) => {
    const url = `/privacy/${t.publisher.sdkId}`;
    const [byUrl, byHeader] = await Promise.all([
      t.app.inject({ url: `${url}?language=${language}` }),
      t.app.inject({ url, headers: { 'accept-language': `${language}, en;q=0.5` } }),
    ]);
    expect(byUrl.body).toContain(`<html ${attributes}>`);
    // For a reader who also accepts English, the page has the text direction of their preferred language.
    expect(byHeader.body).toContain(`<html ${attributes}>`);
  },
);
