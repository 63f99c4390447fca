import { sanitiseTerms } from '../../catalog/snapshot/sanitise.ts';
import type { OfferView } from '../../offers/render/view.ts';
import { type Html, html, nothing, pageOf, plainText, trusted } from '../../platform/http/html.ts';
import type { WalletEntry } from './entries.ts';
import { style } from './style.ts';

/** A saved offer with the signed token that removes it. */
export type PageEntry = WalletEntry & { removeToken: string };

export type WalletPage = {
  publisherName: string;
  /** Origin of pictures that can be resized. */
  publicUrl: string;
  entries: readonly PageEntry[];
  /** An offer that is not in the wallet and can be saved, with the token that saves it. */
  saveable: { title: string; token: string } | null;
};

/** Where the buttons post to; relative, so that they work under whatever name the server is reached. */
export const removePath = '/wallet/remove';
export const savePath = '/wallet/save';

/** The page with a user's saved offers, as text. */
export function renderWallet({ publisherName, publicUrl, entries, saveable }: WalletPage): string {
  const count = entries.length === 1 ? '1 saved offer' : `${entries.length} saved offers`;
  return pageOf({
    title: 'Saved offers',
    style,
    body: html`<main>
<header><h1>Saved offers</h1><p class="quiet">${count} · ${publisherName}</p></header>
${saveable === null ? nothing : savePanel(saveable.title, saveable.token)}
${entries.length === 0 ? emptyNotice(saveable !== null) : html`<ul class="offers">${entries.map((entry) => card(entry, publicUrl))}</ul>`}
</main>`,
  });
}

const emptyNotice = (besidesPanel: boolean): Html =>
  besidesPanel
    ? nothing
    : html`<section class="notice"><h2>Nothing saved yet</h2><p class="quiet">Offers you save for later wait for you here.</p></section>`;

const savePanel = (title: string, token: string): Html =>
  html`<section class="notice"><h2>Save this offer for later?</h2><p>${plainText(title)}</p><form class="actions" method="post" action="${savePath}"><input type="hidden" name="t" value="${token}"><button class="button main">Save</button></form></section>`;

function card({ view, savedAt, state, removeToken }: PageEntry, publicUrl: string): Html {
  const title = plainText(view.title) || view.advertiser_name;
  return html`<li class="offer ${state}">${picture(view, publicUrl)}<div class="text">
<p class="quiet">${view.advertiser_name}</p>
<h2>${title}</h2>
${paragraph(view.description)}
${view.mini_text === '' ? nothing : html`<p class="quiet">${plainText(view.mini_text)}</p>`}
${terms(view.terms_and_conditions)}
<p class="quiet">Saved on <time datetime="${savedAt.toISOString()}">${dayFormat.format(savedAt)}</time></p>
<div class="actions">${state === 'active' ? openLink(view, title) : html`<p class="badge">No longer available</p>`}${removeForm(title, removeToken)}</div>
</div></li>`;
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

const paragraph = (text: string): Html => (text === '' ? nothing : html`<p>${plainText(text)}</p>`);

/** Sanitised once more on the way out: nothing stored is trusted as markup. */
const terms = (markup: string): Html =>
  markup === ''
    ? nothing
    : html`<details><summary>Terms and conditions</summary><div>${trusted(sanitiseTerms(markup))}</div></details>`;

const openLink = (view: OfferView, title: string): Html =>
  html`<a class="button main" href="${view.click_url}" target="_blank" rel="noopener noreferrer" aria-label="${`${plainText(view.cta_yes) || 'Open'}: ${title}`}">${plainText(view.cta_yes) || 'Open'}</a>`;

const removeForm = (title: string, token: string): Html =>
  html`<form method="post" action="${removePath}"><input type="hidden" name="t" value="${token}"><button class="button" aria-label="${`Remove: ${title}`}">Remove</button></form>`;

const kinds = ['hero_image', 'offer_image', 'icon_image'] as const;

/** The widest kind of picture there is; a letter where there is none. */
function picture(view: OfferView, publicUrl: string): Html {
  const found = kinds.flatMap((kind) => view.creatives.filter((creative) => creative.creative_type === kind))[0];
  if (found === undefined)
    return html`<div class="blank" aria-hidden="true">${[...view.advertiser_name][0] ?? ''}</div>`;
  const own = found.url.startsWith(`${publicUrl}/images/`);
  return html`<img src="${own ? `${found.url}?width=640&aspect_ratio=3:2` : found.url}" alt="" width="640" height="427" loading="lazy">`;
}
