import { sanitiseTerms } from '../../catalog/sanitise.ts';
import type { OfferView } from '../../offers/offer-view.ts';
import { type Html, html, nothing, pageOf, plainText, trusted } from '../../platform/http/html.ts';
import { fillMessage, type Language, languages, type Messages } from '../../platform/messages/languages.ts';
import type { SavedOffer } from './saved-offers.ts';

/** A saved offer with the signed token that removes it. */
type PageOffer = SavedOffer & { removeToken: string };

export type WalletPage = {
  publisherName: string;
  /** Origin of pictures that can be resized. */
  publicUrl: string;
  language: Language;
  style: string;
  offers: readonly PageOffer[];
  /** An offer that is not in the wallet and can be saved, with the token that saves it. */
  saveable: { title: string; token: string } | null;
};

/** What every part of the page needs. */
type Context = { publicUrl: string; language: Language; words: Messages['wallet']; terms: string };

/** Where the buttons post to; relative, so that they work under any name of the server. */
export const removePath = '/wallet/remove';
export const savePath = '/wallet/save';

/** The page with a user's saved offers. @returns HTML */
export function renderWallet({ publisherName, publicUrl, language, style, offers, saveable }: WalletPage): string {
  const { wallet: words, unit } = languages[language];
  const context = { publicUrl, language, words, terms: unit.labels.terms };
  const count = offers.length === 1 ? words.one : fillMessage(words.many, { count: offers.length });
  return pageOf({
    title: words.title,
    language,
    style,
    body: html`<main>
<header><h1>${words.title}</h1><p class="quiet">${count} · <bdi>${publisherName}</bdi></p></header>
${saveable === null ? nothing : savePanel(words, saveable.title, saveable.token, language)}
${offers.length === 0 ? emptyNotice(words, saveable !== null) : offerList(offers, context)}
</main>`,
  });
}

const offerList = (offers: readonly PageOffer[], context: Context): Html =>
  html`<ul class="offers">${offers.map((offer) => card(offer, context))}</ul>`;

const emptyNotice = (words: Messages['wallet'], isBesidePanel: boolean): Html =>
  isBesidePanel
    ? nothing
    : html`<section class="notice">
<h2>${words.empty}</h2>
<p class="quiet">${words.emptyText}</p>
</section>`;

const savePanel = (words: Messages['wallet'], title: string, token: string, language: Language): Html =>
  html`<section class="notice">
<h2>${words.question}</h2>
<p dir="auto">${plainText(title)}</p>
<form method="post" action="${savePath}">${hidden(token, language)}
<div class="actions"><button class="button main">${words.save}</button></div></form>
</section>`;

/** The page that follows is in the language of this one. */
const hidden = (token: string, language: Language): Html =>
  html`<input type="hidden" name="t" value="${token}"><input type="hidden" name="language" value="${language}">`;

function card({ view, savedAt, state, removeToken }: PageOffer, context: Context): Html {
  const { words, language } = context;
  const title = plainText(view.title) || view.advertiser_name;
  const day = new Intl.DateTimeFormat(dateLocale[language] ?? language, { dateStyle: 'long', timeZone: 'UTC' });
  const [before = '', after = ''] = words.savedOn.split('{date}');
  return html`<li class="tile ${state}">${picture(view, context)}<div class="text">
<p class="brand" dir="auto">${view.advertiser_name}</p>
<h2 dir="auto">${title}</h2>
${paragraph(view.description, '')}
${paragraph(view.mini_text, 'quiet')}
${terms(view.terms_and_conditions, context)}
<p class="quiet">${before}<time datetime="${savedAt.toISOString()}">${day.format(savedAt)}</time>${after}</p>
<div class="actions">
${state === 'active' ? openLink(view, title, words) : html`<p class="badge">${words.expired}</p>`}
${removeForm(title, removeToken, context)}
</div>
</div></li>`;
}

const dateLocale: Partial<Record<Language, string>> = { en: 'en-GB' };

const paragraph = (text: string, className: string): Html =>
  text === '' ? nothing : html`<p class="${className}" dir="auto">${plainText(text)}</p>`;

/** Sanitised again on output: nothing stored is trusted as markup. Headings follow that of the offer. */
const terms = (markup: string, context: Context): Html =>
  markup === ''
    ? nothing
    : html`<details><summary>${context.terms}</summary>
<div class="terms">${trusted(sanitiseTerms(markup).replace(/<(\/?)h[4-6]\b/g, '<$1h3'))}</div></details>`;

function openLink(view: OfferView, title: string, words: Messages['wallet']): Html {
  const text = plainText(view.cta_yes) || words.open;
  const label = `${text}: ${title}`;
  const href = view.click_url;
  return html`<a class="button main" href="${href}" target="_blank" rel="noopener noreferrer" aria-label="${label}">
<bdi>${text}</bdi></a>`;
}

const removeForm = (title: string, token: string, { words, language }: Context): Html =>
  html`<form method="post" action="${removePath}">${hidden(token, language)}
<button class="button plain" aria-label="${`${words.remove}: ${title}`}">${words.remove}</button></form>`;

const pictureTypes = ['hero_image', 'offer_image', 'icon_image'] as const;

/** The widest type of picture that the offer has; behind it, or instead of it, the advertiser's initial. */
function picture(view: OfferView, { publicUrl }: Context): Html {
  const found = pictureTypes.flatMap((type) => view.creatives.filter((one) => one.creative_type === type))[0];
  const initial = [...view.advertiser_name][0] ?? '';
  if (found === undefined) return html`<div class="media" data-initial="${initial}"></div>`;
  const isResizable = found.url.startsWith(`${publicUrl}/images/`);
  const src = isResizable ? `${found.url}?width=640&aspect_ratio=3:2` : found.url;
  return html`<div class="media" data-initial="${initial}"><img src="${src}" alt="" loading="lazy"></div>`;
}
