import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Stage, startStage } from './support.ts';

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const newUser = (placement = 'checkout') => ({ placement, pub_user_id: `policy-${++users}` });

/** Host pattern of the demo advertisers' pixels. */
const advertisers = 'https://*.example';

/** Returns exactly the directives that the guide recommends (docs/guides/web.md#content-security-policy). */
const directives = (scripts: string, { connect = stage.url, images = `${stage.url} ${advertisers}` } = {}): string =>
  [
    "default-src 'none'",
    `script-src ${scripts}`,
    `connect-src ${connect}`,
    `img-src ${images}`,
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types perkwire',
  ].join('; ');

const byHost = () => `${stage.pageUrl} ${stage.url}`;
const nonce = 'bm9uY2U';

/** Script that returns the colours and boxes of elements styled by the unit's own style sheets. */
const look = `(() => {
  const root = document.querySelector('[data-perkwire]').shadowRoot;
  const style = getComputedStyle(root.querySelector('.btn, .tile a, .tile button'));
  return [style.backgroundColor, style.paddingTop, root.querySelector('img').naturalWidth > 0];
})()`;

describe.each([
  ['a host list', () => directives(byHost()), undefined],
  ['a nonce', () => directives(`'nonce-${nonce}'`), nonce],
])('under a strict policy with %s', (_name, csp, cspNonce) => {
  test.each(['checkout', 'order-status'])(
    'the unit at %s has its styles and images, and sends its beacons',
    async (placement) => {
      const open = (policy: object) => stage.open({ user: newUser(placement), ...policy });
      const free = await open({});
      await free.until('ad_shown');
      await expect.poll(() => free.page.evaluate(`${look}[2]`)).toBe(true);
      const expected = await free.page.evaluate(look);

      const { page, until, problems, calledTimes, names } = await open({ csp: csp(), nonce: cspNonce });
      await until('ad_shown');
      await expect.poll(() => page.evaluate(`${look}[2]`)).toBe(true);
      expect(await page.evaluate(look)).toEqual(expected);
      await expect.poll(() => calledTimes('/p.png')).toBeGreaterThan(0);
      await page.keyboard.press('Escape');
      await until('closed_ads');
      await expect.poll(() => calledTimes('/close')).toBeGreaterThan(0);
      expect(await names()).not.toContain('error');
      expect(problems.filter((problem) => !problem.includes('.example'))).toEqual([]);
    },
  );
});

describe('a resource blocked by the policy', () => {
  test('causes one error that names the directive for API calls', async () => {
    const { until, events, page } = await stage.open({
      user: newUser(),
      csp: directives(byHost(), { connect: "'self'" }),
    });
    expect(await until('error')).toEqual({
      kind: 'blocked',
      message: `The page's content security policy blocks ${stage.url} (connect-src).`,
    });
    await page.evaluate('Ad.load()');
    expect((await events()).filter(({ event }) => event === 'error')).toHaveLength(1);
  });

  test('causes one error for images, and the unit is shown without them', async () => {
    const { until, events, page } = await stage.open({
      user: newUser(),
      csp: directives(byHost(), { images: advertisers }),
    });
    await until('ad_shown', 3);
    expect(await until('error')).toEqual({
      kind: 'blocked',
      message: `The page's content security policy blocks ${stage.url} (img-src).`,
    });
    expect(await page.locator('.tile').count()).toBe(3);
    expect((await events()).filter(({ event }) => event === 'error')).toHaveLength(1);
  });

  test('causes one error for style sheet and beacons of an injected response, and shows no partial unit', async () => {
    const answer = await fetch(`${stage.url}/native/v4/offers.json?api_key=${stage.t.publisher.sdkId}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(newUser()),
    });
    const before = `window.answer = ${JSON.stringify(await answer.text())};`;
    const csp = directives(byHost(), { connect: "'self'" });
    const { until, events, page } = await stage.open({ config: { autoLoad: false }, before, csp });
    await page.evaluate('Ad.setApiResponse(answer)');
    expect(await until('error')).toMatchObject({ kind: 'blocked' });
    await page.evaluate('Ad.show()');
    expect(await page.locator('[data-perkwire]').count()).toBe(0);
    expect((await events()).filter(({ event }) => event === 'error')).toHaveLength(1);
  });
});
