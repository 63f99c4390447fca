import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import type { Choice } from '../../../shell/forms.ts';
import type { Palette } from './palette.ts';

/** Path prefix of the web font fields. Fields left empty are filled with values measured from the font file. */
const fontRoot = 'appearance.web_font';
export const fontPaths = {
  url: `${fontRoot}.url`,
  boldUrl: `${fontRoot}.bold_url`,
  family: `${fontRoot}.family`,
  measured: ['weights', 'ascent', 'descent', 'line_gap', 'width', 'bold_width'].map((name) => `${fontRoot}.${name}`),
};

/**
 * Setting or style that has its own form field:
 * - `also` lists paths that get the same value, unless the JSON field sets them.
 * - `number` marks a string of digits.
 * - If `emptiable` is set, an empty value shows no text; otherwise, it restores the default.
 */
export type AppearanceField = {
  path: string;
  label: MessageKey;
  hint?: MessageKey;
  choices?: () => readonly Choice[];
  also?: readonly string[];
  number?: boolean;
  emptiable?: boolean;
};

/** Group of form fields. `short` marks fields whose values need little space. */
export type FieldSet = { title: MessageKey; hint?: MessageKey; short?: boolean; fields: readonly AppearanceField[] };

const choicesOf = (values: readonly string[]) => (): Choice[] =>
  values.map((value) => ({ value, text: t(`themes.value_${value.replaceAll(' ', '_')}` as MessageKey) }));

const fonts = (): Choice[] => [
  { value: 'system-ui', text: t('themes.fontSystem') },
  { value: 'Helvetica Neue, Helvetica, Arial, sans-serif', text: t('themes.fontHelvetica') },
  { value: 'Verdana, Geneva, sans-serif', text: t('themes.fontVerdana') },
  { value: 'Trebuchet MS, Tahoma, sans-serif', text: t('themes.fontTrebuchet') },
  { value: 'ui-rounded, Nunito, system-ui', text: t('themes.fontRounded') },
  { value: 'Georgia, serif', text: t('themes.fontGeorgia') },
  { value: 'Palatino, Palatino Linotype, serif', text: t('themes.fontPalatino') },
];

const corners = ['top_right', 'bottom_right', 'bottom_left'].map((corner) => `styles.popup.borderRadius.${corner}`);

/** Returns the colour fields below the path `root`. Light and dark mode have the same fields. */
const colours = (root: string): AppearanceField[] => {
  const multi = (name: string): string => `${root}.offerwall.button.offerwall_mou_button_${name}`;
  const yes = `${root}.offerText.buttonYes`;
  const no = `${root}.offerText.buttonNo`;
  const tile = `${root}.offerwall.tile`;
  return [
    { path: `${root}.popup.background`, label: 'themes.background' },
    { path: `${root}.header.background`, label: 'themes.headingBackground' },
    { path: `${root}.header.textColor`, label: 'themes.heading' },
    { path: `${root}.header.lead_in_text_color`, label: 'themes.subheading' },
    { path: `${root}.offerText.textColor`, label: 'themes.text' },
    { path: `${tile}.mou_tile_background_color`, label: 'themes.card' },
    { path: `${tile}.offerwall_mou_tile_background_hover_color`, label: 'themes.cardHover' },
    { path: `${tile}.offerwall_mou_border_color`, label: 'themes.cardBorder' },
    {
      path: `${yes}.background`,
      label: 'offers.yesButton',
      also: [`${yes}.stroke`, multi('background'), multi('stroke')],
    },
    { path: `${yes}.hover`, label: 'themes.yesButtonHover', also: [multi('hover')] },
    { path: `${yes}.color`, label: 'themes.yesButtonText', also: [multi('color')] },
    { path: `${no}.background`, label: 'offers.noButton' },
    { path: `${no}.hover`, label: 'themes.noButtonHover' },
    { path: `${no}.stroke`, label: 'themes.noButtonBorder' },
    { path: `${no}.color`, label: 'themes.noButtonText' },
    { path: `${root}.footer.textColor`, label: 'themes.footer' },
  ];
};

/** Returns the colours of a palette with the paths of their fields. */
export function coloursOf({ light, dark }: Palette): [path: string, colour: string][] {
  const below = (root: string, roles: Palette['light']): [string, string][] => {
    const { background, text, quiet, card, cardHover, cardBorder, yes, yesHover, yesText, no, noHover, noBorder } =
      roles;
    const values = [
      ...[background, background, text, quiet, text, card, cardHover, cardBorder],
      ...[yes, yesHover, yesText, no, noHover, noBorder, text, quiet],
    ];
    return colours(root).map(({ path }, index) => [path, values[index] as string]);
  };
  return [...below('styles', light), ...below('appearance.dark', dark)];
}

/** Field for the system font, which the form shows before the groups. */
export const fontField: AppearanceField = { path: 'styles.offerText.font', label: 'themes.font', choices: fonts };

/** Settings and styles with their own form fields. All others can be set in the JSON field. */
export const groups: readonly FieldSet[] = [
  {
    title: 'themes.texts',
    hint: 'themes.textsHint',
    fields: [
      { path: 'styles.header.text', label: 'themes.heading', emptiable: true },
      { path: 'styles.header.lead_in_text', label: 'themes.subheading' },
      { path: 'settings.usp_cta_text', label: 'themes.perkCheckbox' },
      { path: 'settings.perkswallet_cta', label: 'themes.saveForLater' },
      { path: 'settings.offerwall_cta', label: 'themes.moreOffers' },
      { path: 'styles.footer.text', label: 'themes.footer' },
    ],
  },
  {
    title: 'themes.typeAndShape',
    short: true,
    fields: [
      fontField,
      { path: 'settings.offerText.fontSizeTitle', label: 'themes.titleSize', number: true },
      { path: 'settings.offerText.fontSizeDescription', label: 'themes.textSize', number: true },
      {
        path: 'settings.offerText.tileTextAlignment',
        label: 'themes.textAlignment',
        choices: choicesOf(['left', 'center', 'right']),
      },
      { path: 'styles.popup.borderRadius.top_left', label: 'themes.cornerRadius', also: corners, number: true },
      { path: 'styles.offerwall.tile_radius', label: 'themes.cardRadius' },
      { path: 'settings.offerText.buttonRadius', label: 'themes.buttonRadius', number: true },
      { path: 'styles.offerText.offerwall_mou_button_radius', label: 'themes.buttonRadiusInCards' },
      { path: 'appearance.width', label: 'themes.width', hint: 'themes.widthHint' },
      { path: 'appearance.spacing', label: 'themes.spacing', choices: choicesOf(['compact', 'normal', 'relaxed']) },
      { path: 'styles.offerwall.mou_tile_gap', label: 'themes.cardGap' },
      { path: 'settings.ad_animation', label: 'themes.animation', choices: choicesOf(['fade', 'slide', 'none']) },
    ],
  },
  { title: 'themes.colours', fields: colours('styles') },
  {
    title: 'themes.darkMode',
    hint: 'themes.darkModeHint',
    fields: [
      {
        path: 'appearance.color_scheme',
        label: 'themes.colourScheme',
        choices: () => [
          { value: 'light', text: t('offers.light') },
          { value: 'dark', text: t('offers.dark') },
          { value: 'system', text: t('themes.asDevice') },
        ],
      },
      ...colours('appearance.dark'),
    ],
  },
  {
    title: 'themes.behaviour',
    short: true,
    fields: [
      {
        path: 'styles.popup.image_position',
        label: 'themes.imagePosition',
        choices: choicesOf(['top', 'left', 'right']),
      },
      {
        path: 'settings.ad_position',
        label: 'themes.dialogPosition',
        choices: choicesOf(['center', 'top', 'bottom', 'bottom left', 'bottom right']),
      },
      { path: 'settings.button_order', label: 'themes.buttonOrder', choices: choicesOf(['yes_first', 'no_first']) },
      {
        path: 'settings.progress_bar_type',
        label: 'themes.progress',
        choices: choicesOf(['dots', 'bar', 'none']),
      },
      { path: 'settings.delay', label: 'themes.delay', hint: 'themes.delayHint' },
      {
        path: 'settings.usp_confirmation_event',
        label: 'themes.confirmationEvent',
        hint: 'themes.confirmationEventHint',
      },
      { path: 'settings.show_close', label: 'themes.closeButton' },
      { path: 'settings.close_ad_on_click_outside', label: 'themes.closeOnClickOutside' },
      { path: 'settings.darken_bg', label: 'themes.darkenPage' },
      { path: 'settings.show_ads_on_exit', label: 'themes.showOnExit' },
      { path: 'styles.popup.showImage', label: 'offers.images' },
      { path: 'styles.offerText.hide_adv_name', label: 'themes.hideAdvertiser' },
    ],
  },
];

/** Web font fields, which are shown in a separate part of the form. */
const webFont: readonly AppearanceField[] = [
  { path: fontPaths.url, label: 'themes.webFont' },
  { path: fontPaths.boldUrl, label: 'themes.webFontBold' },
  ...[fontPaths.family, ...fontPaths.measured].map((path) => ({ path, label: 'themes.webFontFamily' }) as const),
];

export const allFields: readonly AppearanceField[] = [...groups.flatMap(({ fields }) => fields), ...webFont];

/** Returns the label of a field, such as "Dark mode: Yes button text". */
export function describePath(path: string): string {
  for (const { title, fields } of groups) {
    const match = fields.find((field) => field.path === path || field.also?.includes(path));
    if (match !== undefined) return t('themes.fieldOf', { group: t(title), field: t(match.label) });
  }
  return path;
}
