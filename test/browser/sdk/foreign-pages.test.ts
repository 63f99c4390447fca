import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Stage, startStage } from './support.ts';

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const newUser = (placement = 'order-status') => ({ placement, pub_user_id: `foreign-${++users}` });

/** Changes that Prototype.js 1.7 and MooTools 1.2 make to built-in objects. */
const libraries = {
  'Prototype.js': `
    Array.prototype.entries = function () { return this.slice(); };
    Array.prototype.toJSON = function () { return JSON.stringify(String(this)); };
    String.prototype.toJSON = function () { return '"' + this + '"'; };
    Array.from = (list) => list ? ('toArray' in Object(list) ? list.toArray() : [].slice.call(list)) : [];
    Array.prototype.reverse = function () { return this.slice(); };
    Object.keys = (object) => { const keys = []; for (const key in object) keys.push(key); return keys; };`,
  MooTools: `
    Function.prototype.bind = function (self, args) { const work = this; return () => work.apply(self, args || []); };
    Array.from = (item) => (item == null ? [] : [item]);
    Element.prototype.toggle = Element.prototype.empty = function () { return this; };`,
  'an AMD loader and other globals': `
    window.define = () => { throw new Error('no'); }; window.define.amd = {};
    window.$ = window.name = 'taken'; window.module = window.exports = undefined;`,
};

describe.each(Object.entries(libraries))('a page with %s', (_name, before) => {
  test('shows two mounted units', async () => {
    const body = '<div id="a"></div><div id="b"></div>';
    const setup = { before, body, user: newUser(), config: { autoLoad: false } };
    const { page, until, problems, names } = await stage.open(setup);
    await page.evaluate(`Ad.mount({ placement: 'order-status', targetElement: 'a' });
      Ad.mount({ placement: 'checkout', targetElement: 'b' });`);
    await until('ads_found', 2);
    await page.locator('#a .btn.no').waitFor();
    await page.locator('#b .tile, #b .btn').first().waitFor();
    expect([await names(), problems]).toEqual([expect.not.arrayContaining(['error']), []]);
  });
});

describe('a page that changes', () => {
  test.each(['innerHTML', 'body'])('keeps its unit after the container was replaced (%s)', async (kind) => {
    const body = '<div id="perks"></div>';
    const { page, until, names } = await stage.open({ body, user: newUser(), config: { targetElement: 'perks' } });
    await until('ad_shown');
    const html = '<main><div id="perks"><div data-perkwire=""></div></div></main>';
    await page.evaluate(
      kind === 'body'
        ? `{ const body = document.createElement('body');
            body.innerHTML = '${html}';
            document.body.replaceWith(body); }`
        : `document.body.innerHTML = '${html}'`,
    );
    await until('ad_shown', 2);
    await page.locator('#perks .btn.no').waitFor();
    expect(await page.locator('#perks > [data-perkwire]').count()).toBe(1);
    expect(await names()).not.toContain('error');
  });

  test('shows its unit in a container that is rendered late', async () => {
    const { page, until, names } = await stage.open({ user: newUser(), config: { targetElement: '#late' } });
    await until('ads_found');
    await page.evaluate(`new Promise((resolve) => setTimeout(resolve, 1000)).then(() => {
      document.querySelector('main').insertAdjacentHTML('beforeend', '<div id="late"></div>'); })`);
    await until('ad_shown');
    expect(await names()).not.toContain('error');
  });

  test('opens no session until a prerendered page is shown', async () => {
    const before = `Object.defineProperty(document, 'prerendering', { configurable: true, get: () => !window.shown });`;
    const { page, until, calls } = await stage.open({ before, user: newUser() });
    await page.evaluate('Ad.load(), undefined');
    await expect.poll(() => calls().some((call) => call.includes('/sdk/unit.'))).toBe(true);
    expect(calls().filter((call) => call.includes('offers.json'))).toEqual([]);
    await page.evaluate(`window.shown = true; document.dispatchEvent(new Event('prerenderingchange'))`);
    await until('ad_shown');
  });
});

test.each(['ad:confirm', 'order:done'])(
  'a confirmation event (%s) right after the tag confirms the perks',
  async (name) => {
    const user = newUser('checkout');
    const settings = { usp_confirmation_event: name };
    const { page, until } = await stage.open({ user, config: { autoLoad: false, settings } });
    await page.evaluate(`document.dispatchEvent(new Event('${name}')); void Ad.load()`);
    await until('usp_confirmed');
    expect(await page.evaluate(`({}).hasOwnProperty.call(document, 'dispatchEvent')`)).toBe(false);
  },
);

test('a host app that becomes ready late, without a ready event, receives earlier events', async () => {
  const before = `delete AdConfig.callback; window.told = [];`;
  const { page } = await stage.open({ before, user: newUser() });
  await page.locator('.btn.no').waitFor();
  await page.evaluate('window.flutter_inappwebview = { callHandler: async (name, event) => void told.push(event) }');
  await expect.poll(() => page.evaluate('told')).toEqual(['ads_found', 'ad_shown']);
});
