import type { Coupon } from '../../coupons/coupon.ts';
import type { OfferView } from '../../offers/offer-view.ts';
import { type Html, html, nothing, pageOf, plainText, trusted } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { lastDay, longDay, reader } from '../../platform/i18n/reader.ts';
import { sanitiseTerms } from '../../platform/lib/sanitise-terms.ts';
import type { SavedOffer } from './saved-offers.ts';

/** Saved offer with the signed token that removes it. */
type PageOffer = SavedOffer & { removeToken: string };

export type WalletPage = {
  publisherName: string;
  /** The publisher's time zone, in which dates are shown. */
  timeZone: string;
  /** Origin from which resizable images are served. */
  publicUrl: string;
  style: string;
  offers: readonly PageOffer[];
  /** Offer that the user can save, with its token. Null if there is no offer, or if it is already in the wallet. */
  saveable: { title: string; token: string } | null;
};

/** Form targets. They are relative, so that they work with any host name. */
export const removePath = '/wallet/remove';
export const savePath = '/wallet/save';

/**
 * Renders the page with a user's saved offers in the reader's language.
 * @returns HTML
 */
export function renderWallet({ publisherName, timeZone, publicUrl, style, offers, saveable }: WalletPage): string {
  const title = t('endUser.wallet.title');
  const count = t('endUser.wallet.count', { count: offers.length });
  return pageOf({
    title,
    style,
    body: html`<main>
<header><h1>${title}</h1><p class="quiet">${count} · <bdi>${publisherName}</bdi></p></header>
${saveable === null ? nothing : savePanel(saveable)}
${offers.length === 0 ? emptyNotice(saveable !== null) : offerList(offers, { publicUrl, timeZone })}
</main>`,
  });
}

type Around = { publicUrl: string; timeZone: string };

const offerList = (offers: readonly PageOffer[], around: Around): Html =>
  html`<ul class="offers">${offers.map((offer) => card(offer, around))}</ul>`;

const emptyNotice = (isBesidePanel: boolean): Html =>
  isBesidePanel
    ? nothing
    : html`<section class="notice">
<h2>${t('endUser.wallet.empty')}</h2>
<p class="quiet">${t('endUser.wallet.emptyText')}</p>
</section>`;

const savePanel = ({ title, token }: NonNullable<WalletPage['saveable']>): Html =>
  html`<section class="notice">
<h2>${t('endUser.wallet.question')}</h2>
<p dir="auto">${plainText(title)}</p>
<form method="post" action="${savePath}">${hidden(token)}
<div class="actions"><button class="button main">${t('endUser.wallet.save')}</button></div></form>
</section>`;

/** Renders the hidden form fields: the token, and the language in which to render the next page. */
function hidden(token: string): Html {
  const { language } = reader();
  return html`<input type="hidden" name="t" value="${token}"><input type="hidden" name="language" value="${language}">`;
}

function card({ view, savedAt, state, removeToken, coupon }: PageOffer, { publicUrl, timeZone }: Around): Html {
  const title = plainText(view.title) || view.advertiser_name;
  const date = html`<time datetime="${savedAt.toISOString()}">${longDay(savedAt, timeZone)}</time>`;
  return html`<li class="tile ${state}">${renderImage(view, publicUrl)}<div class="text">
<p class="brand" dir="auto">${view.advertiser_name}</p>
<h2 dir="auto">${title}</h2>
${paragraph(view.description, '')}
${paragraph(view.mini_text, 'quiet')}
${coupon === null ? nothing : couponPart(coupon, timeZone)}
${terms(view.terms_and_conditions)}
<p class="quiet">${tHtml('endUser.wallet.savedOn', { date })}</p>
<div class="actions">
${state === 'active' ? openLink(view, title) : html`<p class="badge">${t('endUser.wallet.expired')}</p>`}
${removeForm(title, removeToken)}
</div>
</div></li>`;
}

/** Renders a coupon. The code can be selected as a whole, and is displayed left to right in every language. */
function couponPart({ code, expires_at: expiresAt, terms }: NonNullable<Coupon>, timeZone: string): Html {
  const until =
    expiresAt === null
      ? nothing
      : paragraph(t('endUser.coupon.until', { date: lastDay(expiresAt, timeZone) }), 'quiet');
  return html`<div class="coupon"><p class="quiet">${t('endUser.coupon.code')}</p>
<p class="code"><bdi dir="ltr">${code}</bdi></p>${until}${paragraph(terms, 'quiet')}</div>`;
}

const paragraph = (text: string, className: string): Html =>
  text === '' ? nothing : html`<p class="${className}" dir="auto">${plainText(text)}</p>`;

/**
 * Renders coupon terms. They are sanitised again on output, because stored data is never trusted as markup. Their
 * headings are nested below the offer's heading.
 */
const terms = (markup: string): Html =>
  markup === ''
    ? nothing
    : html`<details><summary>${t('endUser.unit.labels.terms')}</summary>
<div class="terms">${trusted(sanitiseTerms(markup).replace(/<(\/?)h[4-6]\b/g, '<$1h3'))}</div></details>`;

function openLink(view: OfferView, title: string): Html {
  const text = plainText(view.cta_yes) || t('endUser.wallet.open');
  const label = `${text}: ${title}`;
  const href = view.click_url;
  return html`<a class="button main" href="${href}" target="_blank" rel="noopener noreferrer" aria-label="${label}">
<bdi>${text}</bdi></a>`;
}

function removeForm(title: string, token: string): Html {
  const text = t('endUser.wallet.remove');
  return html`<form method="post" action="${removePath}">${hidden(token)}
<button class="button plain" aria-label="${`${text}: ${title}`}">${text}</button></form>`;
}

const imageTypes = ['hero_image', 'offer_image', 'icon_image'] as const;

/**
 * Renders the offer image, using the widest available image type. The advertiser's initial is behind the image and is
 * visible if none exists.
 */
function renderImage(view: OfferView, publicUrl: string): Html {
  const creative = imageTypes.flatMap((type) =>
    view.creatives.filter((candidate) => candidate.creative_type === type),
  )[0];
  const initial = [...view.advertiser_name][0] ?? '';
  if (creative === undefined) return html`<div class="media" data-initial="${initial}"></div>`;
  const isResizable = creative.url.startsWith(`${publicUrl}/images/`);
  const src = isResizable ? `${creative.url}?width=640&aspect_ratio=3:2` : creative.url;
  return html`<div class="media" data-initial="${initial}"><img src="${src}" alt="" loading="lazy"></div>`;
}
