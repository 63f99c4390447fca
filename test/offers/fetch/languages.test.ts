import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { languages } from '../../../src/platform/i18n/languages.ts';
import { addEndpoint, uspCalls } from '../../perks/usp/calls.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
let offerId: number;
beforeAll(async () => {
  t = await createTestApp();
  await addEndpoint(t);
  const { rows } = await t.pool.query<{ id: number }>(
    `select o.id from offers o join campaigns c on c.id = o.campaign_id
    where o.active and c.active and o.deleted_at is null order by c.priority, c.weight desc limit 1`,
  );
  offerId = rows[0]?.id as number;
});
afterAll(() => t.close());

type Body = Record<string, unknown>;

async function manage(method: 'PATCH' | 'POST' | 'DELETE', path: string, payload: Body) {
  const url = `/manage/v1/${path}?api_key=demo-key`;
  const answer = await t.app.inject({ method, url, payload });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
}

const changeOffer = (changes: Body) => manage('PATCH', `offers/${offerId}`, changes);

async function save(changes: Body): Promise<void> {
  const { status, body } = await changeOffer(changes);
  expect(status, JSON.stringify(body)).toBe(200);
}

type LocalisedOffer = {
  id: number;
  campaign_id: number;
  language: string;
  creatives: { url: string }[];
  image: string;
} & Body;

async function fetchData(body: Body = {}, headers: Record<string, string> = {}) {
  const url = '/native/v4/offers.json?api_key=demo-key';
  const payload = { placement: 'checkout', pub_user_id: 'u-1', ...body };
  const answer = await t.app.inject({ method: 'POST', url, payload, headers });
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json().data as {
    language: string;
    session_id: string;
    offers: LocalisedOffer[];
    settings: Body;
    styles: Body;
  };
}

async function shownOffer(body: Body = {}, headers: Record<string, string> = {}): Promise<LocalisedOffer> {
  const { offers } = await fetchData({ campaignIds: undefined, ...body }, headers);
  const offer = offers.find(({ id }) => id === offerId);
  if (offer === undefined) throw new Error('the offer is not shown');
  return offer;
}

const german = { title: 'Gratis Kaffee', cta_yes: 'Ja, gern', description: 'Eine Tasse, {{name|du}}.' };

beforeEach(() =>
  save({
    title: 'Free coffee',
    cta_yes: 'Yes please',
    cta_no: 'No thanks',
    language: 'en',
    translations: { de: german, pt: { title: 'Café grátis', cta_yes: 'Sim' }, 'pt-BR': { cta_yes: 'Quero' } },
  }),
);

describe('an offer in several languages', () => {
  test.each([
    [{}, {}, 'en', 'Free coffee', 'Yes please'],
    [{ language: 'de' }, {}, 'de', 'Gratis Kaffee', 'Ja, gern'],
    [{ language: 'DE-at' }, {}, 'de', 'Gratis Kaffee', 'Ja, gern'],
    [{ language: 'pt-BR' }, {}, 'pt-BR', 'Café grátis', 'Quero'],
    [{ language: 'pt-PT' }, {}, 'pt', 'Café grátis', 'Sim'],
    [{ language: 'ja' }, {}, 'en', 'Free coffee', 'Yes please'],
    [{}, { 'accept-language': 'ja, de;q=0.5, pt;q=0.7' }, 'pt', 'Café grátis', 'Sim'],
    [{}, { 'accept-language': 'en-GB,en;q=0.9,de;q=0.8' }, 'en', 'Free coffee', 'Yes please'],
    [{ language: 'de' }, { 'accept-language': 'pt' }, 'de', 'Gratis Kaffee', 'Ja, gern'],
    [{}, { 'accept-language': '*' }, 'en', 'Free coffee', 'Yes please'],
    [{}, { 'accept-language': `${'x'.repeat(300)};;;,\u00ff` }, 'en', 'Free coffee', 'Yes please'],
  ] as const)('for the body %j and headers %j is in %s', async (body, headers, language, title, yes) => {
    expect(await shownOffer(body, headers)).toMatchObject({ language, title, cta_yes: yes, cta_no: 'No thanks' });
  });

  test('fills macros in each language', async () => {
    expect(await shownOffer({ language: 'de', name: 'Ada' })).toMatchObject({ description: 'Eine Tasse, Ada.' });
    expect(await shownOffer({ language: 'de' })).toMatchObject({ description: 'Eine Tasse, du.' });
  });

  test("uses the publisher's language and its texts if none is requested", async () => {
    const setLanguage = (language: string) => manage('PATCH', `publishers/${t.publisher.id}`, { language });
    expect((await setLanguage('de-de')).body.data.language).toBe('de-DE');
    try {
      expect(await shownOffer()).toMatchObject({ language: 'de', title: 'Gratis Kaffee' });
      await save({ language: null, translations: { pt: { title: 'Café' } } });
      expect(await shownOffer()).toMatchObject({ language: 'de-DE', title: 'Free coffee' });
      expect((await fetchData()).language).toBe('de');
    } finally {
      await setLanguage('en');
    }
    expect(await shownOffer()).toMatchObject({ language: 'en', title: 'Free coffee' });
  });

  test('shows only images in the requested language', async () => {
    const added = [];
    for (const language of [null, 'de', 'fr'])
      added.push(
        await manage('POST', 'creatives', {
          offer_id: offerId,
          creative_type: 'hero_image',
          type: 'png',
          width: 1600,
          height: 900,
          language,
          url: `https://cdn.test/${language ?? 'all'}.png`,
        }),
      );
    const heroes = async (language: string) =>
      (await shownOffer({ language })).creatives
        .filter((creative) => (creative as { creative_type?: string }).creative_type === 'hero_image')
        .map(({ url }) => url);
    try {
      expect(added.map(({ status }) => status)).toEqual([201, 201, 201]);
      expect(await heroes('de')).toEqual(['https://cdn.test/de.png']);
      expect(await heroes('fr-CA')).toEqual(['https://cdn.test/fr.png']);
      expect(await heroes('en')).toContain('https://cdn.test/all.png');
      expect(await heroes('en')).not.toContain('https://cdn.test/de.png');
    } finally {
      for (const { body } of added) await manage('DELETE', `creatives/${body.data.id}`, {});
    }
  });
});

describe('the unit', () => {
  test("has its texts in the reader's language and states the language", async () => {
    const words = languages.de.texts.endUser.unit;
    const { language, settings, styles } = await fetchData({ language: 'de-CH' });
    expect({ language, settings, styles }).toMatchObject({
      language: 'de',
      settings: words.settings,
      styles: { ...words.styles, settings: words.settings },
    });
    expect(await fetchData({ language: 'sw' })).toMatchObject({ language: 'en' });
    expect(await fetchData()).toMatchObject({ language: 'en', settings: languages.en.texts.endUser.unit.settings });
  });

  test('keeps texts that the theme overrides', async () => {
    const { rows } = await t.pool.query<{ id: number; settings: Body }>(
      'select id, settings from themes where publisher_id = $1 and is_default',
      [t.publisher.id],
    );
    const [{ id, settings } = { id: 0, settings: {} }] = rows;
    await manage('PATCH', `themes/${id}`, { settings: { ...settings, offerwall_cta: 'All our perks' } });
    try {
      const answer = await fetchData({ language: 'de' });
      expect(answer.settings).toMatchObject({ offerwall_cta: 'All our perks', saved_offer_text: 'Gemerkt' });
    } finally {
      await manage('PATCH', `themes/${id}`, { settings });
    }
  });
});

describe('data derived from a fetch', () => {
  test('is sent by webhook in the language shown', async () => {
    const usp = uspCalls(t);
    const { id, offers } = await usp.fetch({ language: 'pt-BR' });
    const campaignId = offers.find((offer) => offer.id === offerId)?.campaign_id as number;
    await usp.select(id, campaignId);
    await usp.call('POST', `session/${id}.json`, { body: { action: 'wrap' }, user: 'u-1' });
    const { rows } = await t.pool.query<{ payload: Buffer }>(
      'select payload from deliveries where session_id = $1 and payload is not null',
      [id],
    );
    const { body } = JSON.parse(String(rows[0]?.payload));
    expect(body.campaigns).toMatchObject([{ language: 'pt-BR', title: 'Café grátis', cta_yes: 'Quero' }]);
  });

  test('is saved to the wallet in the language shown', async () => {
    const offer = (await shownOffer({ language: 'de', pub_user_id: 'saver' })) as LocalisedOffer & {
      save_for_later_url: string;
    };
    const url = new URL(offer.save_for_later_url);
    const saved = await t.app.inject({ method: 'POST', url: url.pathname + url.search });
    expect(saved.statusCode, saved.body).toBe(200);
    expect(saved.json().data.wallet_url).toMatch(/&language=de$/);
    const list = await t.app.inject({ url: '/wallet/v1/offers.json?api_key=demo-key&pub_user_id=saver' });
    expect(list.json().data.offers).toMatchObject([{ language: 'de', title: 'Gratis Kaffee' }]);
    const page = new URL(saved.json().data.wallet_url);
    const { body } = await t.app.inject({ url: page.pathname + page.search });
    expect(body).toContain('<html lang="de" dir="ltr">');
    expect(body).toContain('Gratis Kaffee');
  });

  test('opens the offerwall in the language of the session on every page', async () => {
    const wall = async (body: Body) => {
      const url = '/native/v4/offerwall.json?api_key=demo-key&limit=1';
      const answer = await t.app.inject({ method: 'POST', url, payload: { placement: 'checkout', ...body } });
      expect(answer.statusCode, answer.body).toBe(200);
      return answer.json().data as { offers: LocalisedOffer[]; language: string; next_cursor: string | null };
    };
    const all: LocalisedOffer[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof wall>> = await wall({ language: 'de', ...(cursor && { cursor }) });
      expect(page.language).toBe('de');
      all.push(...page.offers);
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(all.find(({ id }) => id === offerId)).toMatchObject({ language: 'de', title: 'Gratis Kaffee' });
    const { offerwall_url } = (await shownOffer({ language: 'ar' })) as unknown as { offerwall_url: string };
    const page = new URL(offerwall_url);
    const { body } = await t.app.inject({ url: page.pathname + page.search });
    expect(body).toContain('<html lang="ar" dir="rtl">');
  });

  test('is explained with the language of the session', async () => {
    const url = '/manage/v1/explain?api_key=demo-key';
    const payload = { placement: 'checkout', language: 'de' };
    const answer = await t.app.inject({ method: 'POST', url, payload });
    const lines = answer.json().data.offers as { offer_id: number; language: string; title: string }[];
    expect(lines.find(({ offer_id }) => offer_id === offerId)).toMatchObject({
      language: 'de',
      title: 'Gratis Kaffee',
    });
  });
});

describe('targeting by language', () => {
  test('covers the regions of a language and gives the same result when a decision is repeated', async () => {
    const { rows } = await t.pool.query<{ campaign_id: number }>('select campaign_id from offers where id = $1', [
      offerId,
    ]);
    const path = `campaigns/${rows[0]?.campaign_id}`;
    const rules = { targeting: { languages: { include: ['pt', 'en-GB'], exclude: ['pt-BR'] } } };
    expect((await manage('PATCH', path, { rules })).status).toBe(200);
    try {
      const isShown = async (body: Body, headers = {}) => {
        const { offers, session_id } = await fetchData({ pub_user_id: 'u-2', ...body }, headers);
        const decision = await t.app.inject({ url: `/manage/v1/sessions/${session_id}/decision?api_key=demo-key` });
        expect(decision.json().data).toMatchObject({ identical: true });
        return offers.some(({ id }) => id === offerId);
      };
      expect(await isShown({ language: 'pt' })).toBe(true);
      expect(await isShown({ language: 'pt-PT' })).toBe(true);
      expect(await isShown({ language: 'pt-BR' })).toBe(false);
      expect(await isShown({ language: 'en' })).toBe(false);
      expect(await isShown({})).toBe(false);
      expect(await isShown({}, { 'accept-language': 'en-GB, de' })).toBe(true);
    } finally {
      await manage('PATCH', path, { rules: {} });
    }
    const wrong = await manage('PATCH', path, { rules: { targeting: { languages: { include: ['German'] } } } });
    expect(wrong.status).toBe(400);
    expect(wrong.body.error.details[0].path).toBe('/rules/targeting/languages/include/0');
  });
});

describe('invalid input', () => {
  test.each([
    [{ translations: { de: { title: 'x'.repeat(91) } } }, '/translations/de/title'],
    [{ translations: { de: { cta_yes: 'ü'.repeat(26) } } }, '/translations/de/cta_yes'],
    [{ translations: { de: { headline: 'x' } } }, '/translations/de/headline'],
    [{ translations: { de: { title: 7 } } }, '/translations/de/title'],
    [{ translations: { de: null } }, '/translations/de'],
    [{ translations: { german_x: { title: 'x' } } }, '/translations/german_x'],
    [{ translations: { en: { title: 'x' } } }, '/translations/en'],
    [{ language: 'nonsense!' }, '/language'],
  ] as const)('an offer with %j is rejected with the name of the field', async (changes, path) => {
    const { status, body } = await changeOffer(changes);
    expect(status).toBe(400);
    expect(body.error.details.map((detail: { path: string }) => detail.path)).toContain(path);
  });

  test('unsafe terms are sanitised, language tags are canonical, and empty texts are left out', async () => {
    const translations = { 'PT-br': { title: '', terms_and_conditions: '<p onclick="x()">A<script>b</script></p>' } };
    const { body } = await changeOffer({ translations });
    expect(body.data.translations).toEqual({ 'pt-BR': { terms_and_conditions: '<p>A</p>' } });
  });
});

test("a publisher's blocked word is found in every language of an offer", async () => {
  const path = `publishers/${t.publisher.id}/controls`;
  const put = (words: string[]) =>
    t.app.inject({
      method: 'PUT',
      url: `/manage/v1/${path}?api_key=demo-key`,
      payload: { blocked: { words } },
    });
  expect((await put(['Kaffee'])).statusCode).toBe(200);
  try {
    expect((await fetchData({ language: 'en' })).offers.map(({ id }) => id)).not.toContain(offerId);
  } finally {
    await put([]);
  }
});
