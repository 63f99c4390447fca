import { sanitiseTerms } from '../../catalog/snapshot/sanitise.ts';
import type { OfferView } from '../../offers/render/view.ts';
import { type Html, html, nothing, pageOf, plainText, trusted } from '../../platform/http/html.ts';
import type { SavedOffer } from './saved-offers.ts';
import { style } from './style.ts';

/** A saved offer with the signed token that removes it. */
type PageOffer = SavedOffer & { removeToken: string };

export type WalletPage = {
  publisherName: string;
  /** Origin of pictures that can be resized. */
  publicUrl: string;
  offers: readonly PageOffer[];
  /** An offer that is not in the wallet and can be saved, with the token that saves it. */
  saveable: { title: string; token: string } | null;
};

/** Where the buttons post to; relative, so that they work under any name of the server. */
export const removePath = '/wallet/remove';
export const savePath = '/wallet/save';

/** The page with a user's saved offers. @returns HTML */
export function renderWallet({ publisherName, publicUrl, offers, saveable }: WalletPage): string {
  const count = offers.length === 1 ? '1 saved offer' : `${offers.length} saved offers`;
  return pageOf({
    title: 'Saved offers',
    style,
    body: html`<main>
<header><h1>Saved offers</h1><p class="quiet">${count} · ${publisherName}</p></header>
${saveable === null ? nothing : savePanel(saveable.title, saveable.token)}
${offers.length === 0 ? emptyNotice(saveable !== null) : offerList(offers, publicUrl)}
</main>`,
  });
}

const offerList = (offers: readonly PageOffer[], publicUrl: string): Html =>
  html`<ul class="offers">${offers.map((offer) => card(offer, publicUrl))}</ul>`;

const emptyNotice = (isBesidePanel: boolean): Html =>
  isBesidePanel
    ? nothing
    : html`<section class="notice">
<h2>Nothing saved yet</h2>
<p class="quiet">Offers that you save for later are shown here.</p>
</section>`;

const savePanel = (title: string, token: string): Html =>
  html`<section class="notice">
<h2>Save this offer for later?</h2>
<p>${plainText(title)}</p>
<form class="actions" method="post" action="${savePath}"><input type="hidden" name="t" value="${token}">
<button class="button main">Save</button></form>
</section>`;

function card({ view, savedAt, state, removeToken }: PageOffer, publicUrl: string): Html {
  const title = plainText(view.title) || view.advertiser_name;
  return html`<li class="offer ${state}">${picture(view, publicUrl)}<div class="text">
<p class="quiet">${view.advertiser_name}</p>
<h2>${title}</h2>
${paragraph(view.description)}
${view.mini_text === '' ? nothing : html`<p class="quiet">${plainText(view.mini_text)}</p>`}
${terms(view.terms_and_conditions)}
<p class="quiet">Saved on <time datetime="${savedAt.toISOString()}">${dayFormat.format(savedAt)}</time></p>
<div class="actions">
${state === 'active' ? openLink(view, title) : html`<p class="badge">No longer available</p>`}
${removeForm(title, removeToken)}
</div>
</div></li>`;
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

const paragraph = (text: string): Html => (text === '' ? nothing : html`<p>${plainText(text)}</p>`);

/** Sanitised again on output: nothing stored is trusted as markup. */
const terms = (markup: string): Html =>
  markup === ''
    ? nothing
    : html`<details><summary>Terms and conditions</summary><div>${trusted(sanitiseTerms(markup))}</div></details>`;

function openLink(view: OfferView, title: string): Html {
  const text = plainText(view.cta_yes) || 'Open';
  const label = `${text}: ${title}`;
  const href = view.click_url;
  return html`<a class="button main" href="${href}" target="_blank" rel="noopener noreferrer" aria-label="${label}">
${text}</a>`;
}

const removeForm = (title: string, token: string): Html =>
  html`<form method="post" action="${removePath}"><input type="hidden" name="t" value="${token}">
<button class="button" aria-label="${`Remove: ${title}`}">Remove</button></form>`;

const pictureTypes = ['hero_image', 'offer_image', 'icon_image'] as const;

/** The widest type of picture that the offer has; a letter if it has none. */
function picture(view: OfferView, publicUrl: string): Html {
  const found = pictureTypes.flatMap((type) => view.creatives.filter((one) => one.creative_type === type))[0];
  if (found === undefined)
    return html`<div class="blank" aria-hidden="true">${[...view.advertiser_name][0] ?? ''}</div>`;
  const isResizable = found.url.startsWith(`${publicUrl}/images/`);
  const src = isResizable ? `${found.url}?width=640&aspect_ratio=3:2` : found.url;
  return html`<img src="${src}" alt="" width="640" height="427" loading="lazy">`;
}
