import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildAppearance, buildSettings, buildStyles } from '../../src/catalog/themes.ts';
import type { Publisher, Theme } from '../../src/catalog/types.ts';

type Kind = 'string' | 'integer' | 'boolean' | 'plain number';
type Shape = { [key: string]: Kind | Shape };

const all = (kind: Kind, names: string): Shape => Object.fromEntries(names.split(/[\s,]+/).map((name) => [name, kind]));

/** Key-by-key shape that strictly typed clients expect (interface documentation: settings). */
const settingsShape: Shape = {
  ...all(
    'string',
    'ad_position ad_animation button_order progress_bar_type privacy_policy usp_cta_text usp_confirmation_event',
  ),
  ...all('string', 'perkswallet_cta saved_offer_text offerwall_cta'),
  ...all('integer', 'delay screen_margin mobile_vertical_offset close_delay'),
  ...all(
    'boolean',
    'darken_bg darken_bg_non_centered fixed_progress_bar enable_vertical_offset show_disclaimer show_close',
  ),
  ...all(
    'boolean',
    'enable_close_delay close_ad_on_click_outside show_ads_on_exit enable_effect_shimmer_pos_cta multi_offer_unit',
  ),
  ...all(
    'boolean',
    'enable_usp usp_all_offers_checked enable_wallet enable_perkswallet enable_offerwall open_offerwall',
  ),
  ...all('boolean', 'open_overlay_offerwall'),
  embedded: { ...all('boolean', 'enabled fill_container showBorder showHeader showFooter'), targetElement: 'string' },
  offerText: all('string', 'font textColor tileTextAlignment buttonRadius fontSizeTitle fontSizeDescription'),
};

const stylesShape = {
  popup: {
    ...all('string', 'background shadow lightBox image_position'),
    showImage: 'boolean',
    borderRadius: all('plain number', 'top_left top_right bottom_right bottom_left'),
  },
  header: {
    ...all('string', 'text background textColor lead_in_text lead_in_text_color lead_in_alignment heading_font_size'),
    ...all('integer', 'fontSize headLineAndLeadInFontSize'),
  },
  offerText: {
    ...all('string', 'textColor font cta_text_size cta_text_style'),
    ...all('integer', 'fontSize offerwall_mou_button_radius'),
    ...all('boolean', 'hide_adv_name show_image'),
    buttonYes: all('string', 'background hover stroke color'),
    buttonNo: all('string', 'background hover stroke color'),
  },
  footer: {
    ...all('string', 'disclaimer privacy text textColor font publisher_privacy_policy publisher_name'),
    fontSize: 'integer',
    show_apx_links: 'boolean',
  },
  offerwall: {
    button: all(
      'string',
      'offerwall_mou_button_background offerwall_mou_button_color ' +
        'offerwall_mou_button_hover offerwall_mou_button_stroke',
    ),
    tile: {
      ...all(
        'string',
        'offerwall_mou_border_color offerwall_mou_tile_background_hover_color mou_tile_background_color',
      ),
      offerwall_mou_border_thickness: 'integer',
    },
    ...all('integer', 'tile_radius mou_tile_gap'),
    offerwall_logo_url: 'string',
  },
} satisfies Shape;

const appearanceShape: Shape = {
  ...all('string', 'color_scheme spacing'),
  width: 'integer',
  dark: {
    popup: all('string', 'background shadow lightBox'),
    header: all('string', 'background textColor lead_in_text_color'),
    offerText: {
      textColor: 'string',
      buttonYes: all('string', 'background hover stroke color'),
      buttonNo: all('string', 'background hover stroke color'),
    },
    footer: all('string', 'textColor'),
    offerwall: {
      button: stylesShape.offerwall.button as Shape,
      tile: all(
        'string',
        'offerwall_mou_border_color offerwall_mou_tile_background_hover_color mou_tile_background_color',
      ),
    },
  },
};

/** Checks whether a value fits a type, based on its JSON text: for a typed client, `1e300` is not an integer. */
const fits: Record<Kind, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  integer: (value) => typeof value === 'number' && /^-?\d+$/.test(JSON.stringify(value)),
  'plain number': (value) => typeof value === 'string' && /^\d+(\.\d+)?$/.test(value),
};

/** Returns the mismatches of a value with a shape, one per line. */
function problems(value: unknown, shape: Shape, path = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path} is no object`];
  const entries = value as Record<string, unknown>;
  const extra = Object.keys(entries).filter((key) => !Object.hasOwn(shape, key));
  return [
    ...extra.map((key) => `${path}/${key} is not documented`),
    ...Object.entries(shape).flatMap(([key, kind]) => {
      if (!Object.hasOwn(entries, key)) return [`${path}/${key} is missing`];
      if (typeof kind === 'object') return problems(entries[key], kind, `${path}/${key}`);
      return fits[kind](entries[key]) ? [] : [`${path}/${key} is no ${kind}: ${JSON.stringify(entries[key])}`];
    }),
  ];
}

/** Generates arbitrary JSON in place of an object with this shape, often with the correct keys. */
function storedLike(shape: Shape): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(shape).map(([key, kind]) => [
      key,
      typeof kind === 'object'
        ? storedLike(kind)
        : fc.oneof(fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.jsonValue()),
    ]),
  );
  return fc.oneof(
    { weight: 6, arbitrary: fc.record(fields, { requiredKeys: [] }) },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
}

const publisher = { name: 'Shop', walletEnabled: true, offerwallEnabled: false } as Publisher;
const privacyUrl = 'https://perks.example/privacy/1';

const themeWith = (over: Partial<Record<keyof Theme, unknown>>): Theme =>
  ({
    id: 1,
    name: 'T',
    unit: 'mou',
    uspEnabled: true,
    uspCheckAll: false,
    offersPerResponse: null,
    settings: {},
    styles: {},
    appearance: {},
    ...over,
  }) as Theme;

describe('the appearance', () => {
  test('is absent if the theme sets none, so that strict clients get no unknown field', () => {
    expect([buildAppearance(null), buildAppearance(themeWith({}))]).toEqual([null, null]);
  });

  test('has every key with the documented type, whatever is stored', () => {
    fc.assert(
      fc.property(storedLike(appearanceShape), (stored) => {
        const appearance = JSON.parse(JSON.stringify(stored));
        const built = buildAppearance(themeWith({ appearance: { ...appearance, color_scheme: 'system' } }));
        expect(problems(built, appearanceShape)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test('keeps the brand colours of buttons in dark mode, unless the theme sets others', () => {
    const styles = { offerText: { buttonYes: { background: '#b3411c', color: '#ffffff' } } };
    const dark = (own: object) =>
      buildAppearance(themeWith({ styles, appearance: { color_scheme: 'dark', dark: own } }))?.dark.offerText;
    expect(dark({})?.buttonYes).toMatchObject({ background: '#b3411c', color: '#ffffff' });
    expect(dark({})?.buttonNo.background).not.toBe('#ffffff');
    const overrides = { offerText: { buttonYes: { background: '#ff8a5c' } } };
    expect(dark(overrides)?.buttonYes).toMatchObject({ background: '#ff8a5c', color: '#ffffff' });
  });
});

describe('settings and styles', () => {
  test('have exactly the documented keys with the documented types without a theme', () => {
    expect(problems(buildSettings(publisher, null, false, privacyUrl), settingsShape)).toEqual([]);
    expect(problems(buildStyles(publisher, null, privacyUrl), stylesShape)).toEqual([]);
  });

  test('have every documented key with the documented type, whatever is stored in the theme', () => {
    fc.assert(
      fc.property(storedLike(settingsShape), storedLike(stylesShape), (settings, styles) => {
        // The theme as it is read back from a jsonb column.
        const theme = themeWith(JSON.parse(JSON.stringify({ settings, styles })));
        expect(problems(buildSettings(publisher, theme, true, privacyUrl), settingsShape)).toEqual([]);
        expect(problems(buildStyles(publisher, theme, privacyUrl), stylesShape)).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });

  test('use stored values of the right type for each key, and defaults for the others', () => {
    const theme = themeWith({
      settings: {
        ad_position: 'bottom',
        delay: 250,
        show_close: 'no',
        embedded: { enabled: true, targetElement: '#perks' },
      },
      styles: {
        popup: { borderRadius: { top_left: '4.5', top_right: '8px' } },
        offerText: { buttonYes: { background: '#000000' } },
      },
    });
    const settings = buildSettings(publisher, theme, false, privacyUrl);
    expect(settings).toMatchObject({ ad_position: 'bottom', delay: 250, show_close: true });
    expect(settings.embedded).toMatchObject({ enabled: true, targetElement: '#perks', showBorder: true });
    const styles = buildStyles(publisher, theme, privacyUrl);
    expect(styles.popup.borderRadius).toMatchObject({ top_left: '4.5', top_right: '12' });
    expect(styles.offerText.buttonYes).toMatchObject({ background: '#000000', color: '#ffffff' });
  });

  test('never let a theme enable features that its unit, publisher or session lacks', () => {
    const settings = {
      multi_offer_unit: true,
      enable_usp: true,
      usp_all_offers_checked: true,
      enable_wallet: false,
      enable_offerwall: true,
    };
    expect(
      buildSettings(publisher, themeWith({ unit: 'sou', uspCheckAll: true, settings }), false, privacyUrl),
    ).toMatchObject({
      multi_offer_unit: false,
      enable_usp: false,
      usp_all_offers_checked: false,
      enable_wallet: true,
      enable_perkswallet: true,
      enable_offerwall: false,
    });
  });

  test('are independent of the settings and styles in other responses', () => {
    const theme = themeWith({});
    buildSettings(publisher, theme, false, privacyUrl).embedded.enabled = true;
    buildStyles(publisher, theme, privacyUrl).popup.borderRadius.top_left = 'broken';
    expect(buildSettings(publisher, theme, false, privacyUrl).embedded.enabled).toBe(false);
    expect(buildStyles(publisher, theme, privacyUrl).popup.borderRadius.top_left).toBe('12');
  });

  test('name the publisher and its privacy page, unless the theme overrides them', () => {
    expect(buildSettings(publisher, null, false, privacyUrl).privacy_policy).toBe(privacyUrl);
    expect(buildStyles(publisher, null, privacyUrl).footer).toMatchObject({
      publisher_name: 'Shop',
      publisher_privacy_policy: privacyUrl,
    });
    const own = themeWith({
      settings: { privacy_policy: 'https://own.example' },
      styles: { footer: { publisher_name: 'My Shop' } },
    });
    expect(buildSettings(publisher, own, false, privacyUrl).privacy_policy).toBe('https://own.example');
    expect(buildStyles(publisher, own, privacyUrl).footer.publisher_name).toBe('My Shop');
  });
});
