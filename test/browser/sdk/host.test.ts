import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Stage, startStage } from './support.ts';

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

const newUser = (placement = 'order-status') => ({ placement, pub_user_id: `host-${++users}` });
const fetches = (calls: string[]): number => calls.filter((call) => call === 'POST /native/v4/offers.json').length;

async function fetchAnswer(
  user: object,
): Promise<{ data: { offers: Record<string, unknown>[] } & Record<string, unknown> }> {
  const answer = await fetch(`${stage.url}/native/v4/offers.json?api_key=demo-key`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(user),
  });
  return answer.json() as never;
}

describe('prefetch', () => {
  test('fetches offers in a hidden SDK web view, and the checkout shows them without another fetch', async () => {
    const user = newUser();
    const context = await stage.newContext();
    const hidden = await stage.open({ user, context, config: { prefetch: true, autoShow: false } });
    expect(await hidden.until('ads_found')).toMatchObject({
      offerCount: 3,
      total: 3,
      response: { data: { count: 3 } },
    });
    const checkout = await stage.open({ user, context, config: { autoLoad: true, prefetch: true } });
    expect(await checkout.until('ad_shown')).toEqual({ current: 1, total: 3 });
    expect([fetches(hidden.calls()), hidden.calledTimes('/p.png'), fetches(checkout.calls())]).toEqual([1, 0, 0]);
    const other = await stage.open({ user: newUser(), context, config: { prefetch: true } });
    await other.until('ad_shown');
    expect(fetches(other.calls())).toBe(1);
  });

  test('fetches again for another placement, wherever the placement is set', async () => {
    const { pub_user_id } = newUser();
    const context = await stage.newContext();
    const visit = async (placement: string | null, config: object = {}): Promise<number> => {
      const user = { pub_user_id, ...(placement === null ? {} : { placement }) };
      const opened = await stage.open({ user, context, config: { prefetch: true, autoShow: false, ...config } });
      await opened.until('ads_found');
      return fetches(opened.calls());
    };
    expect(await visit('cart')).toBe(1);
    expect(await visit(null, { placement: 'cart' })).toBe(0);
    expect(await visit(null, { placement: 'checkout' })).toBe(1);
    expect(await visit(null)).toBe(1);
    expect(await visit('web')).toBe(0);
  });

  test('lets the app pass a response that it fetched from the API', async () => {
    const user = newUser();
    const answer = await fetchAnswer(user);
    for (const json of [answer, JSON.stringify(answer)]) {
      const { page, until, calls } = await stage.open({ user, config: { autoLoad: false, prefetch: false } });
      await page.evaluate(async (response) => {
        const { Ad } = window as unknown as {
          Ad: { setApiResponse: (json: unknown) => Promise<boolean>; reload: () => void };
        };
        await Ad.setApiResponse(response);
        Ad.reload();
      }, json as never);
      await until('ad_shown');
      await page.locator('.btn.yes').waitFor();
      expect(fetches(calls())).toBe(0);
    }
  });

  test('emits no_ads_found without offers, and ads_found with offerCount 0 to an app that prefetches', async () => {
    const user = { placement: 'checkout' };
    const config = { campaignId: '999999' };
    const plain = await stage.open({ user, config });
    await plain.until('no_ads_found');
    expect(await plain.names()).toEqual(['no_ads_found']);
    const app = await stage.open({ user, config: { ...config, prefetch: true } });
    expect(await app.until('ads_found')).toMatchObject({ offerCount: 0 });
  });
});

describe('host apps', () => {
  test('do not stop the unit if they throw errors', async () => {
    const before = `window.flutter_inappwebview = { callHandler: () => Promise.reject(new Error('no')) };
      window.ReactNativeWebView = { postMessage: () => { throw new Error('no'); } };
      delete AdConfig.callback;`;
    const { page, problems } = await stage.open({ user: newUser(), before });
    await page.locator('.btn.no').waitFor();
    expect(problems).toEqual([]);
  });

  test('can use the old names of the global objects', async () => {
    const before = `window.AdpxConfig = window.AdConfig; delete window.AdConfig;
      window.AdpxUser = window.AdUser; delete window.AdUser;`;
    const { page, until } = await stage.open({ user: newUser(), before });
    await until('ad_shown');
    expect(await page.evaluate('[Adpx === Ad, AdpxConfig === AdConfig, (AdpxUser = { a: 1 }, AdUser.a)]')).toEqual([
      true,
      true,
      1,
    ]);
  });
});

describe('the host page', () => {
  test('can have the strictest policy, without inline scripts, inline styles or eval', async () => {
    const csp = [
      "default-src 'none'",
      `script-src ${stage.pageUrl} ${stage.url}`,
      `connect-src ${stage.url}`,
      `img-src ${stage.url}`,
      "style-src 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types perkwire',
    ].join('; ');
    for (const placement of ['order-status', 'checkout']) {
      const { page, until, problems } = await stage.open({ user: newUser(placement), csp });
      await until('ad_shown');
      await page.locator('summary').first().click();
      await page.locator('.terms-text li').first().waitFor();
      await page.keyboard.press('Escape');
      await until('closed_ads');
      expect(problems.filter((problem) => !problem.includes('.example'))).toEqual([]);
    }
  });

  test('gets only the documented globals, one element and no styles', async () => {
    const listGlobals = 'JSON.stringify(Object.getOwnPropertyNames(window))';
    const { page, until } = await stage.open({ user: newUser(), before: `window.globalsBefore = ${listGlobals};` });
    await until('ad_shown');
    const added = await page.evaluate(() => {
      const before = JSON.parse((window as unknown as { globalsBefore: string }).globalsBefore) as string[];
      return Object.getOwnPropertyNames(window).filter((name) => !before.includes(name) && !name.startsWith('__pw'));
    });
    expect(added.sort()).toEqual(['Ad', 'Adpx', 'AdpxConfig', 'AdpxUser', 'globalsBefore'].sort());
    expect(
      await page.evaluate(() => [
        document.styleSheets.length,
        document.adoptedStyleSheets.length,
        document.querySelectorAll('body > div').length,
      ]),
    ).toEqual([0, 0, 1]);
  });

  test('is safe from malicious HTML in any field of an offer', async () => {
    const evil =
      '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"\'><svg onload="window.hacked=1">';
    const user = newUser();
    const answer = await fetchAnswer({ ...user, placement: 'checkout' });
    for (const multi of [false, true]) {
      const offers = answer.data.offers.map((offer, index) => {
        const fields = Object.fromEntries(
          Object.entries(offer).map(([name, value]) => [
            name,
            typeof value === 'string' && !/url|pixel/.test(name) ? evil : value,
          ]),
        );
        const bad = {
          useraction_cta: evil,
          useraction_url: 'javascript:window.hacked=1',
          loyalty_requirements: evil,
          is_loyalty: true,
          image: 'javascript:1',
        };
        const terms = [
          evil,
          '<p onclick="window.hacked=1" style="color:red;position:fixed;background:url(//x.example)">Kept ',
          '<a href="javascript:window.hacked=1">a</a>',
          '<a href="https://ok.example/" onclick="x()">b</a></p>',
          '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
          '<math><mi xlink:href="javascript:1">x</mi></math>',
          '<form><input name="childNodes"><input name="localName"><input name="getAttribute"></form>',
        ].join('');
        return {
          ...offer,
          ...fields,
          ...bad,
          terms_and_conditions: terms,
          ...(index === 2 ? { click_url: 'javascript:window.hacked=1' } : {}),
        };
      });
      const settings = {
        ...(answer.data.settings as object),
        multi_offer_unit: multi,
        usp_cta_text: evil,
        perkswallet_cta: evil,
      };
      const styles = {
        ...(answer.data.styles as object),
        header: { text: evil, lead_in_text: evil },
        footer: { disclaimer: evil, privacy: evil },
      };
      const { page, until, problems } = await stage.open({ user, config: { autoLoad: false } });
      await page.evaluate(
        (json) => {
          const { Ad } = window as unknown as {
            Ad: { setApiResponse: (json: unknown) => Promise<boolean>; reload: () => void };
          };
          return Ad.setApiResponse(json).then(() => Ad.reload());
        },
        { data: { ...answer.data, offers, settings, styles } } as never,
      );
      await until('ad_shown');
      expect(await until('ads_found')).toMatchObject({ offerCount: 2 });
      await page.locator('summary').first().click();
      await page.getByText('Kept').first().waitFor();
      const content = await page.evaluate(() => {
        const root = document.querySelector('[data-perkwire]')?.shadowRoot as ShadowRoot;
        const attributes = [...root.querySelectorAll('*')].flatMap((element) =>
          element.getAttributeNames().filter((name) => /^on|srcdoc/.test(name)),
        );
        const styles = [...root.querySelectorAll('[style]')].map((element) => element.getAttribute('style'));
        const links = [...root.querySelectorAll('a')]
          .map((a) => a.href)
          .filter((href) => href !== '' && !/^https?:/.test(href));
        return {
          attributes,
          styles: [...new Set(styles)],
          links,
          tags: root.querySelectorAll('script,iframe,svg,math,style,.terms-text img').length,
          hacked: 'hacked' in window,
        };
      });
      expect(content).toEqual({ attributes: [], styles: ['color: red;'], links: [], tags: 0, hacked: false });
      expect(problems).toEqual([]);
    }
  });

  test('can have any user payload', async () => {
    const before = `AdUser.note = '</script><script>window.hacked=1</script>'; AdUser.fine = '"\\'\\u2028 ü';`;
    const { page, until } = await stage.open({ user: newUser(), before });
    await until('ad_shown');
    expect(await page.evaluate('"hacked" in window')).toBe(false);
    const cyclic = await stage.open({ user: newUser(), before: 'AdUser.self = AdUser;' });
    expect(await cyclic.until('error')).toMatchObject({ kind: 'invalid_parameter' });
    const wrong = await stage.open({ before: 'AdUser = "text"; AdConfig.accountId = 5;' });
    expect(await wrong.until('error')).toMatchObject({ kind: 'invalid_parameter' });
    expect([...cyclic.problems, ...wrong.problems]).toEqual([]);
  });

  test.each([
    ['401', { status: 401, json: { error: { code: 'unknown_key' } } }, 'server_error'],
    ['500', { status: 500, body: 'oops' }, 'server_error'],
    ['HTML', { status: 200, contentType: 'text/html', body: '<html>' }, 'server_error'],
    ['null', { status: 200, body: 'null' }, 'server_error'],
    ['an invalid offers list', { status: 200, json: { data: { offers: 'none' } } }, 'server_error'],
    [
      'invalid entries',
      { status: 200, json: { data: { offers: [null, 3, 'x', {}], settings: [], styles: 7 } } },
      'none',
    ],
    ['no response', null, 'connection_error'],
  ])('gets an error event instead of an exception when the API responds with %s', async (_name, answer, kind) => {
    const { page, until, problems } = await stage.open({ user: newUser(), config: { autoLoad: false } });
    await page.route('**/native/v4/offers.json*', (route) =>
      answer === null ? route.abort() : route.fulfill({ headers: { 'access-control-allow-origin': '*' }, ...answer }),
    );
    expect(await page.evaluate('Ad.load()')).toBe(false);
    if (kind === 'none') await until('no_ads_found');
    else expect(await until('error')).toMatchObject({ kind });
    await page.evaluate('Ad.show(), Ad.close(), Ad.reject(), Ad.rewind(), Ad.reload()');
    expect(await page.evaluate('Ad.isReady()')).toBe(false);
    expect(problems).toEqual([]);
  });

  test('gets a working unit if storage is blocked and its callback throws', async () => {
    const before = `for (const name of ['localStorage', 'sessionStorage'])
        Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError'); } });
      AdConfig.callback = (event, payload) => { seen.push({ event, payload }); throw new Error('mine'); };`;
    const { page, until, problems } = await stage.open({
      user: newUser('checkout'),
      before,
      config: { prefetch: true },
    });
    await until('ad_shown');
    await page.getByRole('checkbox').first().check();
    await until('usp_selected');
    expect(await until('error')).toMatchObject({ kind: 'storage_error' });
    expect(await until('error', 2)).toEqual({ kind: 'callback_error', message: 'mine' });
    expect(problems).toEqual([]);
  });

  test.each(['undefined', 'null', '""', '[]', '{ data: null }'])(
    'gets one error event for setApiResponse(%s), and no unit',
    async (expression) => {
      const { page, until, names } = await stage.open({ user: newUser(), config: { autoLoad: false } });
      expect(await page.evaluate(`Ad.setApiResponse(${expression})`)).toBe(false);
      expect(await until('error')).toMatchObject({ kind: 'server_error' });
      expect(await names()).toEqual(['error']);
      expect(await page.locator('[data-perkwire]').count()).toBe(0);
    },
  );

  test('gets an error event if AdConfig is not an object', async () => {
    const { page } = await stage.open({ before: 'AdConfig = "text";' });
    const errors = await page.evaluate(
      `new Promise((resolve) => Ad.init(null, (event, { kind }) => resolve([event, kind])))`,
    );
    expect(errors).toEqual(['error', 'invalid_parameter']);
  });

  test('gets the unit and one error event for all invalid configuration', async () => {
    const config = { colour: 'red', autoShow: 'yes', settings: 7, themeId: null };
    const { page, until, names, problems } = await stage.open({ user: newUser(), config });
    await until('ad_shown');
    await page.evaluate('Ad.init(5), Ad.load()');
    const { kind, message } = await until('error');
    expect(kind).toBe('invalid_parameter');
    for (const name of ['colour', 'autoShow', 'settings']) expect(message).toContain(`AdConfig.${name}`);
    expect((await names()).filter((name) => name === 'ad_shown')).toHaveLength(1);
    expect(problems).toEqual([]);
  });

  test('gets an error event and no unit if offers arrive after close()', async () => {
    const { page, until, names } = await stage.open({ user: newUser(), config: { autoLoad: false } });
    expect(await page.evaluate('(() => { const loaded = Ad.load(); Ad.show(); Ad.close(); return loaded; })()')).toBe(
      false,
    );
    expect(await until('error')).toMatchObject({ kind: 'closed' });
    expect(await names()).toEqual(['error']);
    expect(await page.locator('[data-perkwire]').count()).toBe(0);
  });

  test.each(['connect-src', 'the style sheet'])('gets one error event when its policy blocks %s', async (blocked) => {
    const csp = blocked === 'connect-src' ? "connect-src 'none'" : `connect-src ${stage.url}/native/`;
    const { page, until, names } = await stage.open({ user: newUser(), csp, config: { prefetch: true } });
    expect(await until('error')).toMatchObject({ kind: 'blocked' });
    expect(await until('ads_found')).toMatchObject({ offerCount: 0 });
    await page.evaluate('Ad.show()');
    expect(await names()).toEqual(['error', 'ads_found']);
    expect(await page.locator('[data-perkwire]').count()).toBe(0);
  });

  test.each([
    ['offers', '**/native/v4/offers.json*', '/sdk/unit.'],
    ['style sheet', '**/sdk/unit.*.json', '/native/v4/offers.json'],
  ])('gets one error event and no partial unit if the service never sends its %s', async (_name, never, other) => {
    // Exposes the timeouts of calls, so that the test can trigger them.
    const before = `window.limits = [];
      AbortSignal.timeout = () => { const limit = new AbortController(); limits.push(limit); return limit.signal; };`;
    const body = '<div id="perks"></div>';
    const config = { autoLoad: false, targetElement: 'perks' };
    const { page, until, names, problems } = await stage.open({ user: newUser(), before, body, config });
    await page.route(never, () => {});
    await page.evaluate('void Ad.load(), Ad.show()');
    const answered = `performance.getEntriesByType('resource').some(({ name }) => name.includes('${other}'))`;
    await expect.poll(() => page.evaluate(answered)).toBe(true);
    expect(await names()).toEqual([]);
    await page.evaluate('for (const limit of limits) limit.abort(new DOMException("", "TimeoutError"))');
    expect(await until('error')).toMatchObject({ kind: 'connection_error' });
    await page.evaluate('Ad.show(), Ad.close()');
    expect(await names()).toEqual(['error']);
    expect(await page.locator('#perks > *').count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test('gets an error event if the container element is missing', async () => {
    const { page, until } = await stage.open({ user: newUser(), config: { targetElement: '#gone' } });
    expect(await until('error')).toMatchObject({ kind: 'render_error' });
    expect(await page.locator('[data-perkwire]').count()).toBe(0);
  });
});

test('a 0×0 web view shows no unit and counts nothing', async () => {
  const before = "Object.defineProperty(window, 'innerWidth', { get: () => window.wide ?? 0 });";
  const { page, until, names, calledTimes } = await stage.open({ user: newUser(), before, config: { prefetch: true } });
  await until('ads_found');
  await page.waitForTimeout(600);
  expect([await names(), calledTimes('/p.png')]).toEqual([['ads_found'], 0]);
  await page.evaluate('window.wide = 800, window.dispatchEvent(new Event("resize"))');
  await until('ad_shown');
});

test('a beacon that fails on the network is retried', async () => {
  const { page, until, calledTimes } = await stage.open({ user: newUser(), config: { autoShow: false } });
  await until('ads_found');
  let lost = 0;
  await page.route('**/p.png*', (route) => (++lost <= 2 ? route.abort() : route.continue()));
  await page.evaluate('Ad.show()');
  await expect.poll(() => calledTimes('/p.png')).toBe(3);
});
