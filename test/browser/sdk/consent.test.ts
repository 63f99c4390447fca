import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PageSetup, type Stage, startStage } from './support.ts';

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

/** Returns identifiers of a new user. Each value identifies a person. */
const identifiers = () => {
  const id = ++users;
  return {
    pub_user_id: `secret-user-${id}`,
    ad_fp: `secretfp${id}`,
    ip: '198.51.100.77',
    email: `secret-${id}@mail.test`,
    customerNo: `secret-customer-${id}`,
  };
};

const gpc = "Object.defineProperty(navigator, 'globalPrivacyControl', { value: true });";
const stored = `JSON.stringify([{ ...localStorage }, { ...sessionStorage }])`;

/** Matches the identifiers wherever they are sent or stored. */
const tellTale = /secret|198\.51/;

test.each<[string, PageSetup]>([
  ['AdUser.consent = false', { before: 'AdUser.consent = false;' }],
  ['AdUser.consent = "0"', { before: 'AdUser.consent = "0";' }],
  ['AdUser.consent = "False"', { before: 'AdUser.consent = "False";' }],
  ['AdUser.consent = "no"', { before: 'AdUser.consent = "no";' }],
  ['AdUser.consent = "denied"', { before: 'AdUser.consent = "denied";' }],
  ['AdUser.consent = { ad_storage: "denied" }', { before: 'AdUser.consent = { ad_storage: "denied" };' }],
  ['AdUser.consent = ["granted"]', { before: 'AdUser.consent = ["granted"];' }],
  ['AdConfig.consent = false', { config: { consent: false } }],
  ['Global Privacy Control', { before: gpc }],
])('sends and stores no identifier with %s', async (_name, setup) => {
  const context = await stage.newContext();
  const user = { placement: 'checkout', country: 'US', ...identifiers() };
  const first = await stage.open({ context, user, config: { prefetch: true, autoShow: false } });
  await first.until('ads_found');
  await first.page.evaluate(`Ad.refresh()`);
  await first.until('ad_shown');
  await first.page.getByRole('checkbox').first().check();
  await first.until('usp_selected');
  await first.page.close({ runBeforeUnload: false });

  const opened = await stage.open({ context, user, ...setup, config: { prefetch: true, ...setup.config } });
  const { page, until, requests, names } = opened;
  await until('ad_shown');
  await page.evaluate('Ad.confirm()');
  await page.keyboard.press('Escape');
  await until('closed_ads');
  await page.evaluate('Ad.refresh()');
  await until('ad_shown', 2);
  const sent = requests
    .filter((request) => request.url().startsWith(stage.url))
    .map((request) => [request.url(), request.postData(), request.headers().referer].join(' '));
  expect(sent.filter((text) => tellTale.test(text))).toEqual([]);
  const fetched = requests.find((request) => request.url().includes('/native/v4/offers.json'));
  expect(fetched?.postDataJSON()).toEqual({ placement: 'checkout', country: 'US', consent: false });
  expect(await page.evaluate(stored)).not.toMatch(/secret|perkwire:(usp|answer)/);
  expect((await names()).filter((name) => name === 'error')).toEqual(['error']); // confirm(): there are no perks
  // The page's own data stays unchanged.
  expect(await page.evaluate('AdUser.email')).toBe(user.email);
});

test('launcher.perkswall.js sends no identifiers without consent either', async () => {
  const config = { containerId: 'wall' };
  const user = { placement: 'wall', country: 'US', c_id: 'secret-click', ...identifiers() };
  const script = '/launcher.perkswall.js';
  const { until, requests } = await stage.open({ user, config, before: gpc, script, body: '<div id="wall"></div>' });
  await until('ads_found');
  const sent = requests.map((request) => `${request.url()} ${request.postData()}`);
  expect(sent.filter((text) => tellTale.test(text) && text.startsWith(stage.url))).toEqual([]);
});

test('identifiers are sent once consent is given', async () => {
  const user = { placement: 'order-status', ...identifiers() };
  const { page, until, requests } = await stage.open({ user, before: 'AdUser.consent = false;' });
  await until('ad_shown');
  await page.evaluate('AdUser.consent = true; Ad.refresh()');
  await until('ad_shown', 2);
  const bodies = requests
    .filter((request) => request.url().includes('/offers.json'))
    .map((request) => request.postDataJSON());
  expect(bodies[1]).toMatchObject({ pub_user_id: user.pub_user_id, email: user.email });
});
