import type { OfferAppearance, OfferSettings, OfferStyles } from '@perkwire/client';
import type { PageExtensions, PublisherContext } from '../catalog/pages.ts';
import {
  buildAppearance,
  buildSettings,
  buildStyles,
  privacyUrlOf,
  translateSettings,
  translateStyles,
} from '../catalog/themes.ts';
import { buildCreativeView, type Offer, type Publisher, type Theme } from '../catalog/types.ts';
import type { App } from '../platform/http/app.ts';
import { type Html, html, nothing } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { reader } from '../platform/i18n/reader.ts';
import type { AssetUrl, Shell } from '../shell/layout.ts';
import { pageHeaders } from '../shell/pages.ts';
import { offerTexts } from './offer-form.ts';
import type { PageServices } from './pages/services.ts';
import { describePath } from './pages/themes/appearance-fields.ts';
import { fontUrlProblem, type LowContrast, lowContrasts } from './theme-overrides.ts';

/** Data with which the browser renders a preview. For an offer, the browser adds the current form values. */
export type PreviewBase = {
  kind: 'offer' | 'theme';
  unit: 'sou' | 'mou';
  settings: OfferSettings;
  styles: OfferStyles;
  appearance: OfferAppearance | null;
  offers: readonly object[];
  /** Form fields that contain the first offer's copy. Empty if there is no form. */
  fields: readonly string[];
};

const placeholderNames = ['Juniper & Co', 'Northlight', 'Oak Street'];

type PreviewInput = {
  publisher: Publisher;
  theme: Theme | null;
  publicUrl: string;
  /** Returns offers of the publisher in SDK format. */
  sampleOffers: PageExtensions['sampleOffers'];
};

/** Builds the preview data that themes and offers have in common, in the publisher's default language. */
const baseOf = ({ publisher, theme, publicUrl }: Omit<PreviewInput, 'sampleOffers'>) => {
  const language = publisher.language.unit ?? 'en';
  const privacyUrl = privacyUrlOf(publisher, publicUrl, language);
  const usp = publisher.uspEnabled && theme?.unit === 'mou' && theme.uspEnabled;
  return {
    settings: translateSettings(buildSettings(publisher, theme, usp, privacyUrl), language),
    styles: translateStyles(buildStyles(publisher, theme, privacyUrl), language),
    appearance: buildAppearance(theme),
  };
};

const placeholder = (publicUrl: string, id: number, name: string, title: string): object => ({
  id,
  campaign_id: id,
  title,
  advertiser_name: name,
  description: t('offers.sampleText'),
  click_url: `${publicUrl}/`,
  cta_yes: t('offers.sampleYes'),
  cta_no: t('offers.sampleNo'),
  creatives: [],
});

/** Returns the publisher's offers, followed by placeholders if there are too few. */
function offersToShow(input: PreviewInput, exceptId: number | null, count: number): object[] {
  const { publisher, publicUrl } = input;
  const real = [...(input.sampleOffers?.(publisher, { exceptId, count }) ?? [])];
  while (real.length < count)
    real.push(
      placeholder(publicUrl, 2_000_000_000 + real.length, placeholderNames[real.length] ?? '', t('offers.sampleTitle')),
    );
  return real;
}

/** Builds the preview of the theme editor with the publisher's offers. */
export const themePreview = (input: PreviewInput): PreviewBase => ({
  kind: 'theme',
  unit: input.theme?.unit ?? 'mou',
  ...baseOf(input),
  offers: offersToShow(input, null, 3),
  fields: [],
});

/**
 * Renders the preview next to the form of an offer, which comes first.
 * @param offer stored offer, or undefined for a new one
 */
export function offerPreview(
  { publicUrl, extensions }: PageServices,
  { publisher, path }: PublisherContext,
  offer?: Offer,
): Html {
  const input = { publisher, theme: publisher.defaultTheme, publicUrl, sampleOffers: extensions.sampleOffers };
  const advertiserName = offer?.campaign.advertiserName ?? t('dimensions.advertiser');
  const creatives = (offer?.creatives ?? []).map((creative) => buildCreativeView(creative, publicUrl));
  return previewPanel(path('/preview'), {
    kind: 'offer',
    unit: input.theme?.unit ?? 'mou',
    ...baseOf(input),
    offers: [
      { ...placeholder(publicUrl, offer?.id ?? 2_100_000_000, advertiserName, ''), creatives },
      ...offersToShow(input, offer?.id ?? null, 2),
    ],
    fields: offerTexts,
  });
}

/**
 * Proposed offer. `id` is null for a new offer, and `creatives` are in the SDK format. `texts` is null if the form next
 * to the preview contains them.
 */
export type ProposedOffer = {
  id: number | null;
  advertiserName: string;
  creatives: readonly object[];
  texts: Readonly<Record<string, unknown>> | null;
};

/** Renders the preview of a proposed offer, with placeholders instead of the offers of other advertisers. */
export function proposedPreview(
  frameUrl: string,
  { publisher, publicUrl }: { publisher: Publisher; publicUrl: string },
  { id, advertiserName, creatives, texts }: ProposedOffer,
): Html {
  const input = { publisher, theme: publisher.defaultTheme, publicUrl, sampleOffers: undefined };
  const ownTexts = Object.fromEntries(offerTexts.map((name) => [name, texts?.[name] ?? '']));
  const offer = { ...placeholder(publicUrl, id ?? 2_100_000_000, advertiserName, ''), ...ownTexts, creatives };
  return previewPanel(frameUrl, {
    kind: 'offer',
    unit: input.theme?.unit ?? 'mou',
    ...baseOf(input),
    offers: [offer, ...offersToShow(input, id, 2)],
    fields: texts === null ? offerTexts : [],
  });
}

/** Renders the preview panel. A form next to it must have the attribute `data-previewed`. */
export const previewPanel = (frameUrl: string, base: PreviewBase): Html => html`
  <aside class="preview sticky" id="preview" data-frame="${frameUrl}" aria-label="${t('common.preview')}">
    <div class="preview-head">
      <h2>${t('common.preview')}</h2>
      ${switches(base)}
    </div>
    <div class="preview-stage"><iframe title="${t('offers.unitPreview')}"></iframe></div>
    <div class="preview-state" role="status">${previewState(base)}</div>
    ${base.kind === 'theme' || base.fields.length > 0 ? html`<p class="hint">${t('offers.previewHint')}</p>` : nothing}
  </aside>`;

/** Renders the content of the preview frame, with a warning about any text with insufficient contrast. */
export function previewState(base: PreviewBase): Html {
  const lowContrastTexts = base.kind === 'theme' ? inWords(lowContrasts(base.styles, base.appearance)) : [];
  return html`<div data-preview="${JSON.stringify(base)}">${
    lowContrastTexts.length > 0 &&
    html`<div class="notice warn"><p>${t('offers.hardToRead')}</p>
      <ul>${lowContrastTexts.map((text) => html`<li>${text}</li>`)}</ul></div>`
  }</div>`;
}

/**
 * Describes text with insufficient contrast, without duplicates. If several styles share a form field, the lowest
 * contrast is reported.
 */
function inWords(lowContrastColours: readonly LowContrast[]): string[] {
  const texts = new Map<string, string>();
  for (const { path, on, ratio } of lowContrastColours.toSorted((a, b) => a.ratio - b.ratio)) {
    const names = { text: describePath(path), background: describePath(on) };
    const pair = JSON.stringify(names);
    if (!texts.has(pair)) texts.set(pair, t('offers.lowContrast', { ...names, ratio }));
  }
  return [...texts.values()];
}

/** Renders the preview switches. Each has a name and values with labels; the first value is the default. */
function switches({ unit }: PreviewBase): Html {
  const units = [
    ['mou', t('offers.multi')],
    ['sou', t('offers.single')],
  ] as const;
  const all: [name: string, label: string, values: readonly (readonly [string, string])[]][] = [
    ['unit', t('settings.unit'), unit === 'mou' ? units : units.toReversed()],
    [
      'size',
      t('offers.screen'),
      [
        ['phone', t('offers.phone')],
        ['desktop', t('offers.desktop')],
      ],
    ],
    [
      'scheme',
      t('offers.deviceColours'),
      [
        ['light', t('offers.light')],
        ['dark', t('offers.dark')],
      ],
    ],
    [
      'dir',
      t('offers.direction'),
      [
        ['ltr', t('offers.ltr')],
        ['rtl', t('offers.rtl')],
      ],
    ],
  ];
  return html`${all.map(
    ([name, label, values]) => html`
      <div class="switches" role="group" aria-label="${label}">${values.map(
        ([value, text], at) => html`
          <button type="button" data-switch="${name}" data-value="${value}"
            aria-pressed="${String(at === 0)}">${text}</button>`,
      )}</div>`,
  )}`;
}

/**
 * Registers the document inside the preview frame. The query parameter `font` is the URL of the font being previewed.
 * The frame may load fonts only from the origin of that URL.
 */
export function registerPreviewFrame(app: App, path: string, { asset, publicUrl }: Shell): void {
  app.get(path, { schema: { hide: true } }, async (request, reply) => {
    const { font } = request.query as { font?: unknown };
    const origin = typeof font === 'string' && fontUrlProblem(font) === null ? new URL(font).origin : null;
    return reply.headers(pageHeaders(publicUrl, "'self'", origin)).send(previewFrame(asset));
  });
}

const previewFrame = (asset: AssetUrl): string =>
  html`<!doctype html>
<html lang="${reader().language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${t('common.preview')}</title>
<link rel="stylesheet" href="${asset('preview.css')}">
<script src="${asset('preview-frame.js')}"></script>
<script defer src="/sdk/launcher.js"></script>
</head>
<body><main id="unit" aria-label="${t('settings.unit')}"></main></body>
</html>
`.markup;
