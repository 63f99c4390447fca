import { buildSettings, buildStyles } from '../../../catalog/snapshot/theme-settings.ts';
import type { Offer, Publisher, Theme } from '../../../catalog/snapshot/types.ts';
import { indexOf } from '../../../decision/index/eligibility.ts';
import { privacyUrlOf } from '../../../offers/render/render.ts';
import { buildOfferView } from '../../../offers/render/view.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { AssetUrl } from '../../shell/assets.ts';

/** What the browser's preview begins with; it fills in what is typed. */
export type PreviewBase = {
  kind: 'offer' | 'theme';
  unit: 'sou' | 'mou';
  settings: object;
  styles: object;
  offers: readonly object[];
  /** Form fields that are fields of the first offer. */
  fields: readonly string[];
};

/** An offer as the SDK gets it, without anything that could be recorded. */
function quietView(publisher: Publisher, offer: Offer, publicUrl: string): object {
  const view = buildOfferView({ offer, publisher, copy: offer.copy, token: '', hasUser: false, qrCode: '', publicUrl });
  return {
    ...view,
    pixel: '',
    adv_pixel_url: '',
    beacons: { close: '', no_thanks_click: '' },
    save_for_later_url: null,
  };
}

type PreviewInput = { publisher: Publisher; theme: Theme | null; publicUrl: string };

const baseOf = ({ publisher, theme, publicUrl }: PreviewInput) => {
  const privacyUrl = privacyUrlOf(publisher, publicUrl);
  const usp = publisher.uspEnabled && theme?.unit === 'mou' && theme.uspEnabled;
  return {
    settings: buildSettings(publisher, theme, usp, privacyUrl),
    styles: buildStyles(publisher, theme, privacyUrl),
  };
};

const placeholder = (publicUrl: string, id: number, name: string, title: string): object => ({
  id,
  campaign_id: id,
  title,
  advertiser_name: name,
  description: 'What the user gets, and why it is worth a click.',
  click_url: `${publicUrl}/`,
  cta_yes: 'Yes, please',
  cta_no: 'No, thanks',
  creatives: [],
});

/** Up to three offers of the publisher; placeholders where there are fewer. */
function someOffers({ publisher, publicUrl }: PreviewInput, without: number | null, wanted: number): object[] {
  const real = indexOf(publisher)
    .candidates.filter(({ offer }) => offer.id !== without)
    .slice(0, wanted)
    .map(({ offer }) => quietView(publisher, offer, publicUrl));
  const names = ['Juniper & Co', 'Northlight', 'Oak Street'];
  while (real.length < wanted)
    real.push(
      placeholder(publicUrl, 2_000_000_000 + real.length, names[real.length] ?? '', 'An offer of your catalogue'),
    );
  return real;
}

/** For the editor of a theme: the publisher's own offers in the look that is typed. */
export const themePreview = (input: PreviewInput): PreviewBase => ({
  kind: 'theme',
  unit: input.theme?.unit ?? 'mou',
  ...baseOf({ ...input, theme: null }),
  offers: someOffers(input, null, 3),
  fields: [],
});

/** The fields of an offer's form that show. */
const shownFields = [
  'title',
  'description',
  'mini_text',
  'short_headline',
  'short_description',
  'terms_and_conditions',
  'cta_yes',
  'cta_no',
  'loyalty_requirements',
] as const;

/**
 * For the editor of an offer: the offer that is typed, first among others. `pictures`: its creatives, as the SDK gets
 * them.
 */
export const offerPreview = (
  input: PreviewInput,
  {
    offerId,
    advertiserName,
    pictures,
  }: { offerId: number | null; advertiserName: string; pictures: readonly object[] },
): PreviewBase => ({
  kind: 'offer',
  unit: input.theme?.unit ?? 'mou',
  ...baseOf(input),
  offers: [
    { ...placeholder(input.publicUrl, offerId ?? 2_100_000_000, advertiserName, ''), creatives: pictures },
    ...someOffers(input, offerId, 2),
  ],
  fields: shownFields,
});

/** The frame with its switches; the form beside it carries `data-previewed`. */
export const previewPanel = (frameUrl: string, base: PreviewBase): Html =>
  html`<aside class="preview sticky" data-preview="${JSON.stringify(base)}" data-frame="${frameUrl}" aria-label="Preview">${
    base.kind === 'offer'
      ? html`<div class="preview-head"><h2>Preview</h2><div class="switches" role="group" aria-label="Unit"><button type="button" data-unit="sou" aria-pressed="${String(base.unit === 'sou')}">Single</button><button type="button" data-unit="mou" aria-pressed="${String(base.unit === 'mou')}">Multi</button></div></div>`
      : html`<div class="preview-head"><h2>Preview</h2></div>`
  }<iframe title="Preview of the unit"></iframe><p class="hint">The real SDK, with what you type. Nothing here is recorded.</p></aside>`;

/** The page inside the frame. */
export const previewFrame = (asset: AssetUrl): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Preview</title>
<link rel="stylesheet" href="${asset('preview.css')}">
<script src="${asset('preview-frame.js')}"></script>
<script defer src="/sdk/launcher.js"></script>
</head>
<body><main id="unit" aria-label="Unit"></main></body>
</html>
`.markup;
