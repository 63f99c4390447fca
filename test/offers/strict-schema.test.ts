import { afterAll, beforeAll, expect, test } from 'vitest';
import { deliveriesOf, uspCalls } from '../perks/usp/calls.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

/**
 * Strictly typed mobile clients fail if a key is missing or has a different type. The shapes below follow the
 * documented interface, not the types in the code.
 */

type Shape = string | readonly [Shape] | { readonly [key: string]: Shape };

const keys = (type: string, names: string): Record<string, Shape> =>
  Object.fromEntries(names.split(' ').map((name) => [name, type]));

const settings: Shape = {
  ...keys(
    'string',
    'ad_position ad_animation button_order progress_bar_type privacy_policy usp_cta_text usp_confirmation_event ' +
      'perkswallet_cta saved_offer_text offerwall_cta',
  ),
  ...keys('integer', 'delay screen_margin mobile_vertical_offset close_delay'),
  ...keys(
    'boolean',
    'darken_bg darken_bg_non_centered fixed_progress_bar enable_vertical_offset show_disclaimer show_close ' +
      'enable_close_delay close_ad_on_click_outside show_ads_on_exit enable_effect_shimmer_pos_cta multi_offer_unit ' +
      'enable_usp usp_all_offers_checked enable_wallet enable_perkswallet enable_offerwall open_offerwall ' +
      'open_overlay_offerwall',
  ),
  embedded: { ...keys('boolean', 'enabled fill_container showBorder showHeader showFooter'), targetElement: 'string' },
  offerText: keys('string', 'font textColor tileTextAlignment buttonRadius fontSizeTitle fontSizeDescription'),
};

const buttonShape = keys('string', 'background hover stroke color');

const styles: Shape = {
  settings,
  popup: {
    ...keys('string', 'background shadow lightBox image_position'),
    showImage: 'boolean',
    borderRadius: keys('number text', 'top_left top_right bottom_right bottom_left'),
  },
  header: {
    ...keys('string', 'text background textColor lead_in_text lead_in_text_color lead_in_alignment heading_font_size'),
    ...keys('integer', 'fontSize headLineAndLeadInFontSize'),
  },
  offerText: {
    ...keys('string', 'textColor font cta_text_size cta_text_style'),
    ...keys('integer', 'fontSize offerwall_mou_button_radius'),
    ...keys('boolean', 'hide_adv_name show_image'),
    buttonYes: buttonShape,
    buttonNo: buttonShape,
  },
  footer: {
    ...keys('string', 'disclaimer privacy text textColor font publisher_privacy_policy publisher_name'),
    fontSize: 'integer',
    show_apx_links: 'boolean',
  },
  offerwall: {
    button: keys(
      'string',
      'offerwall_mou_button_background offerwall_mou_button_color offerwall_mou_button_hover ' +
        'offerwall_mou_button_stroke',
    ),
    tile: {
      ...keys(
        'string',
        'offerwall_mou_border_color offerwall_mou_tile_background_hover_color mou_tile_background_color',
      ),
      offerwall_mou_border_thickness: 'integer',
    },
    ...keys('integer', 'tile_radius mou_tile_gap'),
    offerwall_logo_url: 'string',
  },
};

const creative: Shape = {
  ...keys('integer', 'id width height user_id'),
  url: 'url',
  type: 'string',
  is_primary: 'boolean',
  aspect_ratio: 'number',
  creative_type: 'creative type',
};

/** Fields that offers in responses and campaigns in webhooks have in common. */
const offerFields: Record<string, Shape> = {
  campaign_id: 'integer',
  ...keys(
    'string',
    'title advertiser_name description mini_text terms_and_conditions cta_yes cta_no adv_pixel_url image ' +
      'short_description short_headline',
  ),
  ...keys('url', 'click_url pixel'),
  ...keys('string or null', 'useraction_cta useraction_url'),
  ...keys('boolean', 'offerwall_enabled wallet_enabled perkswallet_enabled is_loyalty is_loyaltyboost'),
  beacons: keys('url', 'close no_thanks_click'),
  creatives: [creative],
  tags: ['string'],
  campaign: { is_product: 'boolean', offer_description: 'string', campaign_images: [creative] },
};

const offer: Shape = {
  ...offerFields,
  id: 'integer',
  save_for_later_url: 'url or null',
  offerwall_url: 'url',
  qr_code_img: 'data URI',
  ...keys('string', 'loyalty_requirements loyaltyboost_requirements'),
};

const answer: Shape = {
  data: {
    offers: [offer],
    count: 'integer',
    privacy_url: 'url',
    session_id: 'UUID',
    settings,
    styles,
  },
};

const wallAnswer: Shape = {
  data: {
    ...(answer.data as object),
    total: 'integer',
    next_cursor: 'string or null',
    first_cursor: 'string',
    categories: ['string'],
  },
};

const webhook: Shape = {
  body: {
    pub_user_id: 'string',
    selected: 'integer',
    session_id: 'UUID',
    campaigns: [
      {
        ...offerFields,
        ...keys('string', 'offer_description save_for_later_url'),
        ...keys('requirements', 'loyalty_requirements loyaltyboost_requirements'),
      },
    ],
  },
};

const isText = (value: unknown): value is string => typeof value === 'string';
const isUrl = (value: unknown): boolean => isText(value) && /^https?:\/\//.test(value) && URL.canParse(value);

const checks: Record<string, (value: unknown) => boolean> = {
  string: isText,
  'string or null': (value) => value === null || isText(value),
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  boolean: (value) => typeof value === 'boolean',
  'number text': (value) => isText(value) && /^\d+(\.\d+)?$/.test(value),
  url: isUrl,
  'url or null': (value) => value === null || isUrl(value),
  UUID: (value) => isText(value) && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value),
  'data URI': (value) => isText(value) && /^data:image\/(png|jpeg);base64,/.test(value),
  'creative type': (value) => ['icon_image', 'offer_image', 'hero_image'].includes(value as string),
  requirements: (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(value).every(([name, text]) => name === 'text' && isText(text)),
};

/**
 * Returns the differences between a value and its shape. Additional keys are allowed, because typed clients ignore
 * them.
 */
function misfits(value: unknown, shape: Shape, path = ''): string[] {
  if (typeof shape === 'string')
    return checks[shape]?.(value) ? [] : [`${path} is no ${shape}: ${JSON.stringify(value)}`];
  if (Array.isArray(shape))
    return Array.isArray(value)
      ? value.flatMap((item, index) => misfits(item, shape[0] as Shape, `${path}/${index}`))
      : [`${path} is no list`];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path} is no object`];
  return Object.entries(shape).flatMap(([name, inner]) =>
    Object.hasOwn(value, name)
      ? misfits((value as Record<string, unknown>)[name], inner, `${path}/${name}`)
      : [`${path}/${name} is missing`],
  );
}

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
  // Simulate values stored by other programs: strings instead of numbers, numbers instead of strings, unknown keys.
  await t.pool.query(`update themes set
    settings = settings || '{"delay": "300", "show_close": "yes", "screen_margin": 1e300, "new": 1, "embedded": []}',
    styles = styles || '{"popup": {"borderRadius": {"top_left": "4px"}, "showImage": 1}, "header": null, "footer": 5}'
    where key = 'single-offer'`);
  await t.deps.catalog.refresh();
});
afterAll(() => t.close());

const user = { pub_user_id: 'strict-1', ad_fp: 'strict' };

/** Requests whose responses have different content. */
const variants: { query?: string; body: Record<string, unknown> }[] = [
  { body: {} },
  { body: { ...user, themeId: 'single-offer' } },
  { body: { ...user, themeId: 'perks-preselected' } },
  { body: { ...user, consent: '0' } },
  { body: { ...user, dev: '1' } },
  { body: { ...user, country: 'DEU', first_name: 'Ada' } },
  { query: '&loyaltyboost=1', body: user },
  { query: '&loyaltyboost=2', body: user },
  { query: '&creative=1', body: user },
  { query: '&campaignId=1', body: user },
  { query: '&campaignId=999999', body: user },
];

/** Returns the responses to every variant, with an API key and with the SDK ID. */
async function answersOf(path: string): Promise<{ data: { count: number } }[]> {
  const responses = [];
  for (const key of [t.publisher.key, t.publisher.sdkId])
    for (const { query = '', body } of variants) {
      const reply = await t.app.inject({
        method: 'POST',
        url: `${path}?api_key=${key}${query}`,
        payload: { placement: 'checkout', ...body },
      });
      expect(reply.statusCode, reply.body).toBe(200);
      responses.push(reply.json());
    }
  return responses;
}

test('66 responses (3 versions, 11 variants, 2 kinds of key) have every key with its type', async () => {
  const answers = (
    await Promise.all(['v1', 'v2', 'v4'].map((version) => answersOf(`/native/${version}/offers.json`)))
  ).flat();
  expect(answers).toHaveLength(66);
  expect(answers.filter(({ data }) => data.count > 0).length).toBeGreaterThan(50);
  expect(answers.flatMap((response) => misfits(response, answer))).toEqual([]);
});

test('every offerwall and perkswall response has every key with its type', async () => {
  for (const path of ['/native/v4/offerwall.json', '/native/v4/perkswall.json', '/native/v2/perkswall.json']) {
    const answers = await answersOf(path);
    expect(answers.filter(({ data }) => data.count > 0).length).toBeGreaterThan(15);
    expect(answers.flatMap((response) => misfits(response, wallAnswer))).toEqual([]);
  }
});

test('the webhook has every key with its type for all, one and no selected offers', async () => {
  await t.pool.query('delete from webhook_endpoints');
  const usp = uspCalls(t);
  const put = await t.app.inject({
    method: 'PUT',
    url: `/manage/v1/webhook-endpoints/usp.selection?api_key=${t.publisher.key}`,
    payload: { url: 'https://publisher.example/hook', method: 'POST' },
  });
  expect(put.statusCode, put.body).toBeLessThan(300);
  for (const [count, body] of [
    [3, { themeId: 'perks-preselected' }],
    [3, { themeId: 'perks-preselected', dev: '1' }],
    [1, {}],
    [0, {}],
  ] as const) {
    const { id, ids } = await usp.fetch({ pub_user_id: 'u-1', ...body });
    if (count === 1) expect((await usp.select(id, ids[0])).status).toBe(200);
    expect((await usp.wrap(id)).status).toBe(200);
    const [delivery] = await deliveriesOf(t, id);
    const payload = JSON.parse(String(delivery?.payload));
    expect(payload.body.campaigns).toHaveLength(count);
    expect(misfits(payload, webhook)).toEqual([]);
  }
});

test('detects a missing key or a key of another type', async () => {
  const [first] = await answersOf('/native/v4/offers.json');
  const broken = structuredClone(first) as unknown as { data: { settings: Record<string, unknown>; offers: object[] } };
  broken.data.settings.delay = '0';
  delete broken.data.settings.open_offerwall;
  Object.assign(broken.data.offers[0] as object, { tags: 'x', beacons: null });
  expect(misfits(broken, answer).sort()).toEqual([
    '/data/offers/0/beacons is no object',
    '/data/offers/0/tags is no list',
    '/data/settings/delay is no integer: "0"',
    '/data/settings/open_offerwall is missing',
  ]);
});
