import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Stage, startStage } from './support.ts';

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const newUser = (placement = 'order-status') => ({ placement, pub_user_id: `methods-${++users}` });
const fetchPath = '/native/v4/offers.json';

describe('init() while a unit is shown', () => {
  test.each([
    ['placement', `AdUser.placement = 'checkout'; Ad.init()`],
    ['configured placement', `delete AdUser.placement; Ad.init({ placement: 'checkout' })`],
    ['user', `Ad.init({}); AdUser = { ...AdUser, pub_user_id: 'methods-other' }; Ad.init()`],
    ['fingerprint', `AdUser.ad_fp = 'f1'; Ad.init()`],
  ])('with another %s reports and shows the new offers', async (_name, change) => {
    const { page, until, names, calledTimes } = await stage.open({ user: newUser() });
    await until('ad_shown');
    await page.evaluate(change);
    await until('ads_found', 2);
    await until('ad_shown', 2);
    await expect.poll(() => page.locator('[data-perkwire]').count()).toBe(1);
    expect(calledTimes(fetchPath)).toBe(2);
    expect((await names()).filter((name) => name === 'ads_found' || name === 'error')).toEqual([
      'ads_found',
      'ads_found',
    ]);
  });

  test('with the same placement and user does not report the offers again', async () => {
    const { page, until, names } = await stage.open({ user: newUser() });
    await until('ad_shown');
    await page.evaluate('Ad.init({ dev: "0" }).then(() => Ad.init())');
    expect((await names()).filter((name) => name === 'ads_found')).toHaveLength(1);
  });
});

describe('init() with another targetElement', () => {
  const body = '<div id="a"></div><div id="b"></div><p>Your order</p>';
  const heights = `['a', 'b'].map((id) => document.getElementById(id).offsetHeight)`;
  const inB = '#b [data-perkwire]';

  test.each(['shown', 'loading'])('moves a unit that is %s and leaves no gap', async (state) => {
    const opened = await stage.open({
      user: newUser(),
      body,
      config: { targetElement: 'a', autoLoad: state === 'shown' },
    });
    const { page, until, calledTimes } = opened;
    if (state === 'shown') await until('ad_shown');
    await page.evaluate(`Ad.init({ autoLoad: true }); void Ad.init({ targetElement: 'b' })`);
    await page.locator(inB).waitFor({ state: 'attached' });
    await page.locator(`${inB} .btn.no`).waitFor();
    const [a, b] = (await page.evaluate(heights)) as number[];
    expect(a).toBe(0);
    expect(b).toBeGreaterThan(100);
    expect(await page.locator('[data-perkwire]').count()).toBe(1);
    expect([calledTimes(fetchPath), calledTimes('/p.png')]).toEqual([1, 1]);
  });

  test('leaves no gap if the unit moves from an element to a dialog over the page', async () => {
    const { page, until } = await stage.open({ user: newUser(), body, config: { targetElement: 'a' } });
    await until('ad_shown');
    await page.evaluate('void Ad.init({ targetElement: null })');
    await page.locator('dialog .btn.no').waitFor();
    expect(await page.evaluate(heights)).toEqual([0, 0]);
  });
});

describe('show() before offers are loaded', () => {
  test.each([
    ['on its own', 'Ad.show()'],
    ['before load()', 'Ad.show(), Ad.load()'],
    ['after load()', 'Ad.load(), Ad.show()'],
    ['before init()', 'Ad.show(), Ad.init()'],
  ])('loads and shows offers once when called %s', async (_name, calls) => {
    for (const config of [{ autoLoad: false }, { autoShow: false }]) {
      const { page, until, names, calledTimes } = await stage.open({ user: newUser(), config });
      await page.evaluate(`void (${calls})`);
      await until('ad_shown');
      expect(await names()).toEqual(['ads_found', 'ad_shown']);
      expect(calledTimes(fetchPath)).toBe(1);
    }
  });

  test('loads offers again after destroy()', async () => {
    const { page, until } = await stage.open({ user: newUser() });
    await until('ad_shown');
    await page.evaluate('Ad.destroy(), Ad.show()');
    await until('ad_shown', 2);
  });
});

describe('destroy()', () => {
  test('emits nothing while offers are being fetched, even if the fetch fails', async () => {
    const opened = await stage.open({ user: newUser(), config: { autoLoad: false, prefetch: true } });
    const { page, names, calledTimes } = opened;
    let fail = (): void => {};
    const destroyed = new Promise<void>((resolve) => {
      fail = resolve;
    });
    await page.route(`**${fetchPath}*`, async (route) => {
      await destroyed;
      await route.fulfill({ status: 400, json: {}, headers: { 'access-control-allow-origin': '*' } });
    });
    await page.evaluate('window.loading = Ad.load(), null');
    await expect.poll(() => calledTimes(fetchPath)).toBe(1);
    await page.evaluate('Ad.destroy()');
    fail();
    expect(await page.evaluate('loading')).toBe(false);
    expect(await names()).toEqual([]);
  });
});

describe('configuration that is set after the load event', () => {
  const shop = (late: string): string => `<!doctype html><title>Shop</title>
<script>window.seen = []; const callback = (event, payload) => seen.push({ event, payload });</script>
<script src="%%HOST%%/launcher.js"></script>
<script>addEventListener('load', () => setTimeout(() => { ${late} }, 50));</script>`;
  const sdkId = () => stage.t.publisher.sdkId;

  test.each(['AdConfig', 'AdpxConfig'])('is read from %s, together with the user', async (name) => {
    const late = `window.${name} = { accountId: '${sdkId()}', callback };
      window.${name.replace('Config', 'User')} = { placement: 'order-status' };`;
    const { until, requests, names } = await stage.open({ document: shop(late) });
    await until('ad_shown');
    const sent = requests.find((request) => request.url().includes(fetchPath));
    expect(sent?.postDataJSON()).toMatchObject({ placement: 'order-status' });
    expect((await names()).filter((event) => event !== 'ad_shown')).toEqual(['ads_found']);
  });

  test('starts once if init() follows', async () => {
    const late = `window.AdConfig = { accountId: '${sdkId()}' }; AdConfig.callback = callback; Ad.init();`;
    const { until, calledTimes, names } = await stage.open({ document: shop(late) });
    await until('ad_shown');
    expect([calledTimes(fetchPath), (await names()).filter((name) => name === 'error')]).toEqual([1, []]);
  });

  test('reports one error if the account is missing', async () => {
    const { until, names } = await stage.open({ document: shop('window.AdConfig = { callback };') });
    expect(await until('error')).toEqual({ kind: 'invalid_parameter', message: 'AdConfig.accountId is missing.' });
    expect(await names()).toEqual(['error']);
  });
});
