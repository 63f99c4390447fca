import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lacks } from '../../support/browser.ts';
import { type Stage, startStage, storedKinds } from './support.ts';

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const newUser = (placement: string): Record<string, string> => ({ placement, pub_user_id: `unit-${++users}` });
const single = () => newUser('order-status');

/** Returns the kinds of the events recorded for a session, in order. */
async function kindsOf(session: string): Promise<string[]> {
  const { rows } = await stage.t.pool.query<{ kind: string }>(
    'select kind from events where session_id = $1 order by at',
    [session],
  );
  return rows.map(({ kind }) => kind);
}

/** Returns the session ID of a user's fetch. */
async function sessionOf(user: Record<string, string>): Promise<string> {
  const { rows } = await stage.t.pool.query<{ id: string }>('select id from sessions where pub_user_id = $1', [
    user.pub_user_id,
  ]);
  return rows[0]?.id as string;
}

describe('the single offer unit', () => {
  test('shows the next offer after "no thanks", sends each beacon once, and closes after the last offer', async () => {
    const user = single();
    const opened = await stage.open({ user });
    const { page, until, names } = opened;
    expect(await until('ad_shown')).toEqual({ current: 1, total: 3 });
    for (const number of [1, 2, 3]) {
      await page.locator('.btn.no').click();
      expect(await until('ad_not_taken', number)).toEqual({ current: number, total: 3 });
    }
    await until('closed_ads');
    expect(await page.locator('[data-perkwire]').count()).toBe(0);
    expect(await names()).toEqual([
      'ads_found',
      'ad_shown',
      'ad_not_taken',
      'ad_shown',
      'ad_not_taken',
      'ad_shown',
      'ad_not_taken',
      'closed_ads',
    ]);
    const session = await sessionOf(user);
    await expect.poll(async () => (await kindsOf(session)).length).toBe(7);
    expect((await kindsOf(session)).sort()).toEqual([
      'close',
      'impression',
      'impression',
      'impression',
      'no_thanks',
      'no_thanks',
      'no_thanks',
    ]);
    expect(opened.calledTimes('/p.png')).toBe(3);
    const pixels = opened.requests.map((request) => request.url()).filter((url) => url.includes('/p.png'));
    expect(pixels.every((url) => /cbuster=[a-z0-9]+$/.test(url))).toBe(true);
  });

  test('opens the advertiser in a new tab when an offer is accepted, and shows the next offer', async () => {
    const user = single();
    const { page, until, names } = await stage.open({ user });
    await until('ad_shown');
    const [tab] = await Promise.all([page.context().waitForEvent('page'), page.locator('.btn.yes').click()]);
    expect(await until('ad_shown', 2)).toEqual({ current: 2, total: 3 });
    expect(tab).toBeDefined();
    const session = await sessionOf(user);
    await expect.poll(() => kindsOf(session)).toContain('click');
    expect(await names()).toEqual(['ads_found', 'ad_shown', 'url_clicked', 'ad_taken', 'ad_shown']);
    await page.locator('.btn.yes').click();
    await page.locator('.btn.yes').click();
    await until('last_ad_taken');
    await until('closed_ads');
  });

  test('sends the close beacon of the current offer when it is closed', async () => {
    const opened = await stage.open({ user: single() });
    await opened.until('ad_shown');
    await opened.page.locator('.btn.no').click();
    await opened.until('ad_shown', 2);
    await opened.page.getByRole('button', { name: 'Close' }).click();
    await opened.until('closed_ads');
    await expect.poll(() => opened.calledTimes('/close')).toBe(1);
    const tokens = opened.requests
      .map((request) => new URL(request.url()))
      .filter((url) => /p\.png|\/close$/.test(url.pathname));
    expect(tokens.map((url) => url.searchParams.get('t')).slice(-2)).toEqual(
      Array(2).fill(tokens.at(-1)?.searchParams.get('t')),
    );
  });

  test('has methods that do the same as the buttons', async () => {
    const { page, until, names, requests } = await stage.open({ user: single(), config: { autoLoad: false } });
    await page.evaluate('Ad.load()');
    expect(await page.evaluate('Ad.isReady()')).toBe(true);
    await page.evaluate('Ad.show(), Ad.reject(), Ad.rewind(), Ad.reject(), Ad.reload(), Ad.close()');
    await until('closed_ads');
    expect((await names()).filter((name) => name !== 'ads_found').join(' ')).toBe(
      'ad_shown ad_not_taken ad_shown ad_shown ad_not_taken ad_shown ad_shown closed_ads',
    );
    await page.evaluate("Ad.setPayload({ placement: 'checkout' })");
    expect(await page.evaluate('Ad.refresh()')).toBe(true);
    await page.locator('.tile').first().waitFor();
    const images = requests
      .map((request) => new URL(request.url()))
      .filter((url) => url.pathname.startsWith('/images/'));
    expect(new Set(images.map((url) => url.searchParams.get('width')))).toEqual(new Set(['480', '360']));
  });

  test('shows the previous offer without a second impression', async () => {
    const { page, until, calledTimes } = await stage.open({ user: single() });
    await until('ad_shown');
    await page.locator('.btn.no').click();
    await until('ad_shown', 2);
    await page.getByRole('button', { name: 'Previous offer' }).click();
    expect(await until('ad_shown', 3)).toEqual({ current: 1, total: 3 });
    expect(calledTimes('/p.png')).toBe(2);
  });

  test('works by keyboard only, traps the focus, closes on Escape, and restores the focus', async () => {
    const { page, until } = await stage.open({
      user: single(),
      config: { autoShow: false },
      body: '<button id="before">Pay</button>',
    });
    await until('ads_found');
    await page.locator('#before').focus();
    await page.evaluate('Ad.show()');
    await until('ad_shown');
    const inside = () => page.evaluate(() => document.activeElement?.hasAttribute('data-perkwire'));
    for (let press = 0; press < 14; press++) {
      await page.keyboard.press('Tab');
      expect(await inside()).toBe(true);
    }
    await page.keyboard.press('Shift+Tab');
    expect(await inside()).toBe(true);
    await page.locator('.btn.no').focus();
    await page.keyboard.press('Enter');
    await until('ad_shown', 2);
    expect(
      await page.evaluate(() => document.querySelector('[data-perkwire]')?.shadowRoot?.activeElement?.className),
    ).toBe('title');
    await page.keyboard.press('Escape');
    await until('closed_ads');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('before');
  });

  test('saves an offer for later and confirms it', async () => {
    const { page, until, calls, events } = await stage.open({ user: single() });
    await until('ad_shown');
    await page.getByRole('button', { name: 'Keep for later' }).click();
    await page.getByRole('button', { name: 'Kept' }).waitFor();
    expect(calls()).toContain('POST /wallet/v1/save.json');
    await page.locator('.btn.no').click();
    await until('ad_shown', 2);
    await page.route('**/wallet/v1/save.json*', (route) =>
      route.fulfill({ status: 404, json: {}, headers: { 'access-control-allow-origin': '*' } }),
    );
    await page.getByRole('button', { name: 'Keep for later' }).click();
    expect(await until('error')).toMatchObject({ kind: 'save_error' });
    expect((await events()).filter(({ event }) => event === 'error')).toHaveLength(1);
  });

  test.skipIf(lacks('clock'))(
    "is shown after the theme's delay, which also elapses while the offers load",
    async () => {
      const delay = 3_600_000;
      for (const passesEarly of [true, false]) {
        const context = await stage.newContext();
        await context.clock.install();
        let release = (): void => {};
        const released = new Promise<void>((resolve) => {
          release = resolve;
        });
        await context.route('**/native/v4/offers.json*', async (route) => {
          await released;
          await route.continue();
        });
        // Disables call timeouts.
        const before = 'AbortSignal.timeout = () => new AbortController().signal;';
        const config = { settings: { delay } };
        const { page, until, names, calledTimes } = await stage.open({ context, user: single(), before, config });
        await expect.poll(() => calledTimes('/offers.json')).toBe(1);
        if (passesEarly) await page.clock.fastForward(delay);
        release();
        await until('ads_found');
        if (!passesEarly) {
          expect(await names()).toEqual(['ads_found']);
          await page.clock.fastForward(delay);
        }
        await until('ad_shown');
        await context.close();
      }
    },
  );

  test.skipIf(lacks('clock'))("shows the close button after the theme's delay", async () => {
    const context = await stage.newContext();
    await context.clock.install();
    const { page, until, names } = await stage.open({
      context,
      user: single(),
      config: { settings: { enable_close_delay: true, close_delay: 60 } },
    });
    await until('ad_shown');
    await page.keyboard.press('Escape');
    expect(await page.getByRole('button', { name: 'Close' }).count()).toBe(0);
    expect(await names()).not.toContain('closed_ads');
    await page.clock.fastForward(60_000);
    await page.getByRole('button', { name: 'Close' }).click();
    await until('closed_ads');
  });
});

describe('the grid', () => {
  test('counts an impression only after half of an offer has been in view for a second', async () => {
    const opened = await stage.open({
      user: newUser('checkout'),
      config: { targetElement: '#perks' },
      body: '<div style="height:3000px"></div><div id="perks"></div>',
    });
    const { page, until, calledTimes } = opened;
    await until('ads_found');
    await page.locator('#perks .tile').first().waitFor({ state: 'attached' });
    await page.waitForTimeout(1300);
    expect(calledTimes('/p.png')).toBe(0);
    await page.locator('#perks').scrollIntoViewIfNeeded();
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    await until('ad_shown', 3);
    await expect.poll(() => calledTimes('/p.png')).toBe(3);
  });

  test('removes declined offers and closes after the last one', async () => {
    const { page, until, calledTimes } = await stage.open({ user: { placement: 'checkout' } });
    await until('ad_shown', 3);
    for (const remaining of [3, 2, 1]) {
      expect(await page.locator('.tile').count()).toBe(remaining);
      await page.locator('.tile .quiet').first().click();
      await until('ad_not_taken', 4 - remaining);
    }
    await until('closed_ads');
    await expect.poll(() => calledTimes('/no_thanks_click')).toBe(3);
    await expect.poll(() => calledTimes('/close')).toBe(1);
  });

  test('sends the close beacon of every offer that is shown', async () => {
    const { until, page, calledTimes } = await stage.open({ user: newUser('checkout') });
    await until('ad_shown', 3);
    await page.keyboard.press('Escape');
    await until('closed_ads');
    await expect.poll(() => calledTimes('/close')).toBe(3);
  });
});

describe('an embedded unit', () => {
  const body = '<div id="perks"></div><p id="below">Your order</p>';
  const below = 'Math.round(document.getElementById("below").getBoundingClientRect().top)';
  const before = `AdConfig.callback = (event, payload) =>
    seen.push({ event, payload: { ...payload, below: ${below} } });`;

  test('reserves its space before its offers arrive, and a later page reuses that height', async () => {
    const context = await stage.newContext();
    const config = { targetElement: 'perks' };
    const tops: unknown[][] = [];
    for (let visit = 0; visit < 2; visit++) {
      const { until, page } = await stage.open({ context, user: newUser('checkout'), body, before, config });
      const { below: early } = await until('ads_found');
      await page.locator('#perks .tile').first().waitFor();
      const { below: late } = await until('ad_shown');
      tops.push([early, late]);
    }
    expect(Number(tops[0]?.[0])).toBeGreaterThan(600);
    expect(tops[1]).toEqual([tops[1]?.[1], tops[1]?.[1]]);
  });

  test("shows a placeholder of that height in the page's colour until offers arrive or none are found", async () => {
    const style = '<style>#perks { box-sizing: border-box; padding: 20px; color: rgb(1, 2, 3) }</style>';
    for (const offers of ['some', 'none', 'failed']) {
      let release = (): void => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const context = await stage.newContext();
      await context.route('**/native/v4/offers.json*', async (route) => {
        await released;
        await (offers === 'failed' ? route.abort() : route.continue());
      });
      const config = { targetElement: '#perks', ...(offers === 'none' && { campaignId: '999999' }) };
      const { page, until } = await stage.open({ context, user: newUser('checkout'), body: style + body, config });
      const placeholder = page.locator('#perks > div:not([data-perkwire])');
      const early = await placeholder.evaluate((element) => {
        const { backgroundImage, animationName } = getComputedStyle(element);
        return [element.clientHeight >= 600, backgroundImage.includes('rgb(1, 2, 3)'), animationName];
      });
      expect(early).toEqual([true, true, 'none']);
      const [height, reservedHeight] = await page
        .locator('#perks')
        .evaluate((element) => [element.getBoundingClientRect().height, Number.parseFloat(element.style.minHeight)]);
      expect(height).toBe(reservedHeight);
      release();
      await until({ some: 'ad_shown', none: 'no_ads_found', failed: 'error' }[offers] as string);
      expect(await placeholder.count()).toBe(0);
      await context.close();
    }
  });

  test('leaves no gap without offers, after it ends, or if the page sets its own height', async () => {
    const user = newUser('checkout');
    const bodyWithHeight = body.replace('id="perks"', '$& style="min-height: 700px"');
    const empty = await stage.open({
      user,
      body: bodyWithHeight,
      config: { targetElement: '#perks', campaignId: '999999' },
    });
    await empty.until('no_ads_found');
    expect(await empty.page.locator('#perks').evaluate((element) => element.clientHeight)).toBe(0);
    const own = `<style>#perks { min-height: 90px }</style>${body}`;
    const { page, until } = await stage.open({ user, body: own, before, config: { targetElement: '#perks' } });
    expect(Number((await until('ads_found')).below)).toBeLessThan(400);
    await page.evaluate('Ad.close()');
    await until('closed_ads');
    expect(await page.locator('#perks').evaluate((element) => element.clientHeight)).toBe(90);
  });
});

describe('pages that draw the unit themselves', () => {
  test('can use a template', async () => {
    const body =
      '<div id="here"></div><template id="mine"><h2 data-ad="title"></h2>' +
      '<button data-ad-action="reject">Next</button></template>';
    const { page, until } = await stage.open({
      user: single(),
      body,
      config: { targetElement: '#here', template: '#mine' },
    });
    await until('ad_shown');
    const first = await page.locator('#here h2').first().textContent();
    await page.getByRole('button', { name: 'Next' }).click();
    expect(await until('ad_shown', 2)).toEqual({ current: 2, total: 3 });
    expect(await page.locator('#here h2').first().textContent()).not.toBe(first);
  });

  test('can use a template whose links accept only URLs, and show other offer texts as link text', async () => {
    const context = await stage.newContext();
    await context.route('**/native/v4/offers.json*', async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      for (const offer of json.data.offers) Object.assign(offer, { title: 'javascript:window.ran=1', cta_yes: 'Yes' });
      await route.fulfill({ response, json });
    });
    const template =
      '<a data-ad="title"></a><a data-ad="cta_yes" data-ad-action="take"></a><a data-ad="click_url">Visit</a>' +
      '<img data-ad="title" alt="">';
    const config = { targetElement: 'here', template };
    const { page, until } = await stage.open({ user: single(), body: '<div id="here"></div>', context, config });
    await until('ad_shown');
    const links = await page
      .locator('#here a')
      .evaluateAll((all) => all.map((link) => [link.textContent, link.getAttribute('href')?.slice(0, 4) ?? null]));
    expect(links).toEqual([
      ['javascript:window.ran=1', null],
      ['Yes', null],
      ['Visit', 'http'],
    ]);
    expect(await page.locator('#here img').getAttribute('src')).toBe('');
    await page.locator('#here a', { hasText: 'Yes' }).click();
    await until('url_clicked');
  });

  test('report clicks on plain links, and follow them unless the callback returns false', async () => {
    for (const answer of ['undefined', 'false']) {
      const before = `AdConfig.callback = (event, payload) => { seen.push({ event, payload }); return ${answer}; };
        AdConfig.render = (data) => '<a target="_blank" href="' + data.click_url + '"><b>Get it</b></a>';`;
      const user = single();
      const config = { targetElement: '#here' };
      const { page, until, names } = await stage.open({ user, body: '<div id="here"></div>', before, config });
      await until('ad_shown');
      const link = page.locator('#here a');
      const url = await link.getAttribute('href');
      await link.locator('b').click();
      expect(await until('url_clicked')).toEqual({ target_url: url, url });
      const session = await sessionOf(user);
      if (answer === 'undefined') await expect.poll(() => kindsOf(session)).toContain('click');
      else expect(await page.context().pages()).toHaveLength(1);
      expect(await names()).toEqual(['ads_found', 'ad_shown', 'url_clicked']);
    }
  });

  test('can use a function, and the SDK draws the unit if the function throws', async () => {
    const before = `AdConfig.render = (data, index, settings, styles, { element, actions }) => {
      if (window.broken) throw new Error('oh');
      element.textContent = data.title; element.onclick = () => { window.broken = true; actions.reject(); };
    };`;
    const { page, until } = await stage.open({
      user: single(),
      body: '<div id="here"></div>',
      before,
      config: { targetElement: '#here' },
    });
    await until('ad_shown');
    await page.locator('[data-offer-id]').click();
    expect(await until('error')).toEqual({ kind: 'render_error', message: 'oh' });
    await page.locator('.btn.no').waitFor();
  });
});

test('no beacon of the pages above was rejected or classified as a bot', async () => {
  expect((await storedKinds(stage)).length).toBeGreaterThan(15);
  const { rows } = await stage.t.pool.query(
    "select kind, suspicious from events where suspicious is not null and kind <> 'click'",
  );
  expect(rows).toEqual([]);
});
