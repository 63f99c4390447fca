import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Stage, startStage } from './support.ts';

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const newUser = (placement = 'order-status') => ({ placement, pub_user_id: `pages-${++users}` });
const bottomRight = { ad_position: 'bottom right', darken_bg: false, darken_bg_non_centered: false };

/** Script that returns the box, colours and text of each element of the unit. */
const look = `[...document.querySelector('[data-perkwire]').shadowRoot.querySelectorAll('*')].map((element) => {
  const style = getComputedStyle(element);
  const { width, height } = element.getBoundingClientRect();
  return [element.className, width, height, style.display, style.color, style.font, style.letterSpacing, style.opacity,
    style.visibility, style.textTransform, style.textAlign, style.backgroundColor, style.cursor].join(' ');
})`;

describe('a unit looks and works the same', () => {
  const rules = [
    '* { color: red; font: 30px/3 monospace; letter-spacing: 9px; text-transform: uppercase; display: inline-block }',
    'body * { color: red !important; opacity: 0.2 !important; visibility: hidden !important }',
    'body * { display: none !important }',
    '* { --popup-background: red; --offerText-textColor: blue !important; --soft: red; cursor: wait }',
    'div:empty, body > div { display: none; float: right; filter: blur(9px); transform: scale(2) }',
  ];

  test.each(['order-status', 'checkout'])(
    'with any page style rule that matches all elements, at %s',
    async (placement) => {
      const results = [];
      for (const rule of ['', ...rules]) {
        const body = `<style>${rule} main, main * { display: block }</style><div id="here" style="width: 700px"></div>`;
        for (const target of [undefined, 'here']) {
          const config = {
            settings: { enable_effect_shimmer_pos_cta: false },
            ...(target && { targetElement: target }),
          };
          const { page } = await stage.open({ user: newUser(placement), body, config });
          await page.locator('[data-perkwire]').waitFor({ state: 'attached' });
          await page.waitForFunction(
            `document.querySelector('[data-perkwire]').shadowRoot.querySelector('.btn') !== null`,
          );
          // Skip target elements that are invisible themselves: the page intends the unit inside to be hidden.
          if (target !== undefined && rule.includes('body *')) continue;
          results.push([
            target,
            await page.evaluate(`Promise.all(document.querySelector('[data-perkwire]')
          .shadowRoot.getAnimations().map((one) => one.finished)).then(() => ${look})`),
          ]);
          await page.close();
        }
      }
      for (const target of [undefined, 'here']) {
        const [plain, ...others] = results.filter(([at]) => at === target).map(([, appearance]) => appearance);
        for (const other of others) expect(other).toEqual(plain);
      }
    },
  );

  test('with Prototype.js and similar libraries, whose toJSON affects JSON.stringify', async () => {
    // Defines toJSON as Prototype 1.6 does. Each function returns JSON text, which is then encoded as a string again.
    const before = `Array.prototype.toJSON = function () { return '[' + this.join(', ') + ']'; };
      String.prototype.toJSON = function () { return '"' + this + '"'; };
      Number.prototype.toJSON = Boolean.prototype.toJSON = function () { return String(this); };`;
    const context = await stage.newContext();
    const user = { ...newUser('checkout'), cart: ['a', 'b'], total: 12.5, gift: true, nested: { list: [1, 2] } };
    const opened = await stage.open({ context, user, before, config: { prefetch: true } });
    const { page, until, requests } = opened;
    await until('ad_shown');
    const fetched = requests.find((request) => request.url().includes('/native/v4/offers.json'));
    expect(JSON.parse(fetched?.postData() ?? '')).toEqual(user);
    await page.getByRole('checkbox').first().check();
    await until('usp_selected');
    const again = await stage.open({ context, user, before, config: { prefetch: true } });
    await again.until('ad_shown');
    await page.evaluate(`Ad.confirm()`);
    expect(await until('usp_confirmed')).toMatchObject({ selected: [expect.any(Number)] });
    expect(await page.evaluate('[...Array.prototype.toJSON.call([1, 2])].join("")')).toBe('[1, 2]');
  });
});

describe('a printed page', () => {
  test.each([
    ['over the page', {}],
    ['in a corner', bottomRight],
  ])('contains only the receipt, without a unit %s', async (_name, settings) => {
    const { page, until } = await stage.open({ user: newUser(), config: { settings } });
    await until('ad_shown');
    const frame = page.locator('dialog.frame');
    expect(await frame.isVisible()).toBe(true);
    await page.emulateMedia({ media: 'print' });
    expect(await frame.isVisible()).toBe(false);
    await page.emulateMedia({ media: 'screen' });
    expect(await frame.isVisible()).toBe(true);
  });
});

describe('close_ad_on_click_outside', () => {
  const cases = [
    ['with a darkened page', {}],
    ['without a darkened page', { darken_bg: false }],
    ['in a corner of a page that stays usable', bottomRight],
  ] as const;

  test.each(cases)('%s closes the unit on a click outside it, but not inside it', async (_name, position) => {
    const settings = { close_ad_on_click_outside: true, ...position };
    const body = '<button id="open" onclick="Ad.show()">Open</button>';
    const { page, until, names } = await stage.open({ user: newUser(), body, config: { autoShow: false, settings } });
    await until('ads_found');
    await page.locator('#open').click();
    await until('ad_shown');
    await page.locator('.title').click();
    expect(await names()).not.toContain('closed_ads');
    await page.mouse.click(5, 5);
    await until('closed_ads');
    await page.mouse.click(5, 5);
    expect((await names()).filter((name) => name === 'closed_ads' || name === 'error')).toEqual(['closed_ads']);
  });

  test.each(cases)('%s is off by default', async (_name, settings) => {
    const { page, until, names } = await stage.open({ user: newUser(), config: { settings } });
    await until('ad_shown');
    await page.mouse.click(5, 5);
    await page.keyboard.press('Escape');
    await until('closed_ads');
    expect((await names()).filter((name) => name === 'closed_ads')).toHaveLength(1);
  });
});

describe('advertiser pixels', () => {
  const pixel = 'https://pixel.example/i.gif?n={cbuster}';

  /** Opens a page with a prefetched response whose offers contain an advertiser's pixel. */
  async function openWithPixels(setup: object) {
    const answer = await fetch(`${stage.url}/native/v4/offers.json?api_key=demo-key`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(newUser()),
    });
    const json = (await answer.json()) as { data: { offers: Record<string, unknown>[] } };
    for (const offer of json.data.offers) offer.adv_pixel_url = pixel;
    const before = `window.answer = ${JSON.stringify(json)};`;
    const opened = await stage.open({ config: { autoLoad: false }, before, ...setup });
    await opened.page.evaluate('Ad.setApiResponse(answer)');
    await opened.until('ad_shown');
    return opened;
  }

  test('load as images once per offer, and no response to them is an error', async () => {
    const { page, requests, until, names } = await openWithPixels({});
    const pixels = () => requests.filter((request) => request.url().startsWith('https://pixel.example/'));
    await expect.poll(() => pixels().length).toBe(1);
    expect(pixels()[0]?.resourceType()).toBe('image');
    expect(pixels()[0]?.url()).toMatch(/n=[a-z0-9]+$/);
    await page.locator('.btn.no').click();
    await until('ad_shown', 2);
    await page.getByRole('button', { name: 'Previous offer' }).click();
    await until('ad_shown', 3);
    await expect.poll(() => pixels().length).toBe(2);
    expect(await names()).not.toContain('error');
  });

  test("cause one error that names the directive if the page's policy blocks them", async () => {
    const csp = `img-src ${stage.url}`;
    const { page, until, events } = await openWithPixels({ csp });
    await page.locator('.btn.no').click();
    await until('ad_shown', 2);
    expect(await until('error')).toEqual({
      kind: 'blocked',
      message: "The page's content security policy blocks https://pixel.example (img-src).",
    });
    expect((await events()).filter(({ event }) => event === 'error')).toHaveLength(1);
  });
});

describe('page settings and styles', () => {
  test('cause one error if they are unknown or of the wrong type, and the unit is shown', async () => {
    const settings = { ad_postion: 'top', delay: '3', embedded: { enabled: true, showheader: false }, darken_bg: true };
    const styles = { header: { text: 'Thanks', colour: 'red' } };
    const { page, until, names } = await stage.open({ user: newUser(), config: { settings, styles } });
    await until('ad_shown');
    await page.evaluate('Ad.refresh()');
    await until('ad_shown', 2);
    const { kind, message } = await until('error');
    expect(kind).toBe('invalid_parameter');
    expect(String(message).match(/AdConfig\.[\w.]+/g)).toEqual([
      'AdConfig.settings.ad_postion',
      'AdConfig.settings.delay',
      'AdConfig.settings.embedded.showheader',
      'AdConfig.styles.header.colour',
    ]);
    expect((await names()).filter((name) => name === 'error')).toHaveLength(1);
  });
});

describe('the language of the page', () => {
  test.each(['he', 'iw_IL', 'ar-EG', 'fa-IR', 'ur', 'az-Arab', 'dv', 'nqo', 'syr', 'ff-Adlm'])(
    'sets a right-to-left direction in the unit: %s',
    async (language) => {
      for (const setup of [{ html: `lang="${language}"` }, { config: { language } }]) {
        const { page, until } = await stage.open({ user: newUser(), ...setup });
        await until('ad_shown');
        const frame = page.locator('dialog.frame');
        expect(await frame.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl');
        // The `lang` attribute is the language of the messages on the page.
        const words = /^(he|iw)/.test(language) ? 'he' : language === 'ar-EG' ? 'ar' : 'en';
        expect(await frame.getAttribute('lang')).toBe(words);
      }
    },
  );

  test.each([
    ['zh-TW', 'zh-Hant', '條款與條件'],
    ['zh-CN', 'zh-Hans', '条款和条件'],
    ['ko-KR', 'ko', '이용 약관'],
  ])('selects texts in its script: %s', async (language, words, terms) => {
    const { page, until } = await stage.open({ user: newUser(), config: { language } });
    await until('ad_shown');
    expect(await page.locator('dialog.frame').getAttribute('lang')).toBe(words);
    expect(await page.locator('dialog.frame').textContent()).toContain(terms);
  });

  test('does not change the direction of left-to-right pages', async () => {
    const { page, until } = await stage.open({ user: newUser(), html: 'lang="de" dir="ltr"' });
    await until('ad_shown');
    expect(await page.locator('dialog.frame').evaluate((element) => getComputedStyle(element).direction)).toBe('ltr');
  });
});
