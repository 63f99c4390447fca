import type { Choice } from '../../shell/forms.ts';

/**
 * A setting or style with a field of its own. `also`: paths that get the same value, unless the JSON field names them.
 * `number`: digits in a text.
 */
export type AppearanceField = {
  path: string;
  label: string;
  hint?: string;
  choices?: readonly Choice[];
  also?: readonly string[];
  number?: boolean;
};

/** `short`: its values need little room. */
export type FieldSet = { title: string; hint?: string; short?: boolean; fields: readonly AppearanceField[] };

const choicesOf = (values: readonly string[]): Choice[] =>
  values.map((value) => ({ value, text: value.replaceAll('_', ' ') }));

const fonts: readonly Choice[] = [
  { value: 'system-ui', text: 'System' },
  { value: 'Helvetica Neue, Helvetica, Arial, sans-serif', text: 'Helvetica, Arial' },
  { value: 'Verdana, Geneva, sans-serif', text: 'Verdana' },
  { value: 'Trebuchet MS, Tahoma, sans-serif', text: 'Trebuchet' },
  { value: 'ui-rounded, Nunito, system-ui', text: 'Rounded' },
  { value: 'Georgia, serif', text: 'Georgia' },
  { value: 'Palatino, Palatino Linotype, serif', text: 'Palatino' },
];

const corners = ['top_right', 'bottom_right', 'bottom_left'].map((corner) => `styles.popup.borderRadius.${corner}`);

/** Colours below `root`; the same in light and in dark mode. */
const colours = (root: string): AppearanceField[] => {
  const multi = (name: string): string => `${root}.offerwall.button.offerwall_mou_button_${name}`;
  const yes = `${root}.offerText.buttonYes`;
  const no = `${root}.offerText.buttonNo`;
  const tile = `${root}.offerwall.tile`;
  return [
    { path: `${root}.popup.background`, label: 'Background' },
    { path: `${root}.header.background`, label: 'Heading background' },
    { path: `${root}.header.textColor`, label: 'Heading' },
    { path: `${root}.header.lead_in_text_color`, label: 'Subheading' },
    { path: `${root}.offerText.textColor`, label: 'Text' },
    { path: `${tile}.mou_tile_background_color`, label: 'Card' },
    { path: `${tile}.offerwall_mou_tile_background_hover_color`, label: 'Card, hover' },
    { path: `${tile}.offerwall_mou_border_color`, label: 'Card border' },
    {
      path: `${yes}.background`,
      label: 'Yes button',
      also: [`${yes}.stroke`, multi('background'), multi('stroke')],
    },
    { path: `${yes}.hover`, label: 'Yes button, hover', also: [multi('hover')] },
    { path: `${yes}.color`, label: 'Yes button text', also: [multi('color')] },
    { path: `${no}.background`, label: 'No button' },
    { path: `${no}.hover`, label: 'No button, hover' },
    { path: `${no}.stroke`, label: 'No button border' },
    { path: `${no}.color`, label: 'No button text' },
    { path: `${root}.footer.textColor`, label: 'Footer' },
  ];
};

/** The settings and styles with fields of their own; all others can be set as JSON. */
export const groups: readonly FieldSet[] = [
  {
    title: 'Texts',
    hint: 'Texts that you leave as they are appear in the language of the page.',
    fields: [
      { path: 'styles.header.text', label: 'Heading' },
      { path: 'styles.header.lead_in_text', label: 'Subheading' },
      { path: 'settings.usp_cta_text', label: 'Perk checkbox' },
      { path: 'settings.perkswallet_cta', label: 'Save for later' },
      { path: 'settings.offerwall_cta', label: 'More offers' },
      { path: 'styles.footer.text', label: 'Footer' },
    ],
  },
  {
    title: 'Type and shape',
    short: true,
    fields: [
      { path: 'styles.offerText.font', label: 'Font', choices: fonts },
      { path: 'settings.offerText.fontSizeTitle', label: 'Title size (px)', number: true },
      { path: 'settings.offerText.fontSizeDescription', label: 'Text size (px)', number: true },
      {
        path: 'settings.offerText.tileTextAlignment',
        label: 'Text alignment',
        choices: choicesOf(['left', 'center', 'right']),
      },
      { path: 'styles.popup.borderRadius.top_left', label: 'Corner radius (px)', also: corners, number: true },
      { path: 'styles.offerwall.tile_radius', label: 'Card radius (px)' },
      { path: 'settings.offerText.buttonRadius', label: 'Button radius (px)', number: true },
      { path: 'styles.offerText.offerwall_mou_button_radius', label: 'Button radius in cards (px)' },
      { path: 'appearance.width', label: 'Width (px)', hint: '0: that of the layout.' },
      { path: 'appearance.spacing', label: 'Spacing', choices: choicesOf(['compact', 'normal', 'relaxed']) },
      { path: 'styles.offerwall.mou_tile_gap', label: 'Gap between cards (px)' },
      { path: 'settings.ad_animation', label: 'Animation', choices: choicesOf(['fade', 'slide', 'none']) },
    ],
  },
  { title: 'Colours', fields: colours('styles') },
  {
    title: 'Dark mode',
    hint: 'Colours of the dark palette. Apps with strict typed clients: see the interface documentation first.',
    fields: [
      {
        path: 'appearance.color_scheme',
        label: 'Colour scheme',
        choices: [
          { value: 'light', text: 'Light' },
          { value: 'dark', text: 'Dark' },
          { value: 'system', text: 'As the user’s device' },
        ],
      },
      ...colours('appearance.dark'),
    ],
  },
  {
    title: 'Behaviour',
    short: true,
    fields: [
      { path: 'styles.popup.image_position', label: 'Image position', choices: choicesOf(['top', 'left', 'right']) },
      {
        path: 'settings.ad_position',
        label: 'Dialog position',
        choices: choicesOf(['center', 'top', 'bottom', 'bottom left', 'bottom right']),
      },
      { path: 'settings.button_order', label: 'Button order', choices: choicesOf(['yes_first', 'no_first']) },
      {
        path: 'settings.progress_bar_type',
        label: 'Progress indicator',
        choices: choicesOf(['dots', 'bar', 'none']),
      },
      { path: 'settings.delay', label: 'Delay (ms)', hint: 'Passes while the offers load.' },
      {
        path: 'settings.usp_confirmation_event',
        label: 'Confirmation event',
        hint: 'DOM event that confirms the perks.',
      },
      { path: 'settings.show_close', label: 'Close button' },
      { path: 'settings.close_ad_on_click_outside', label: 'Close on click outside' },
      { path: 'settings.darken_bg', label: 'Darken page behind' },
      { path: 'settings.show_ads_on_exit', label: 'Show on exit intent' },
      { path: 'styles.popup.showImage', label: 'Images' },
      { path: 'styles.offerText.hide_adv_name', label: 'Hide advertiser name' },
    ],
  },
];

export const allFields: readonly AppearanceField[] = groups.flatMap(({ fields }) => fields);

/** What a field sets, in words: "Dark mode: Yes button text". */
export function describePath(path: string): string {
  for (const { title, fields } of groups) {
    const found = fields.find((field) => field.path === path || field.also?.includes(path));
    if (found !== undefined) return `${title}: ${found.label}`;
  }
  return path;
}
